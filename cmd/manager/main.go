// Command manager is the operator: it makes of DecisionServices what they
// consist of and reports on policies. It decides nothing: calls go on being
// decided while it is away.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx := ctrl.SetupSignalHandler()
	if err := newCommand(setLoggers).ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		os.Exit(1)
	}
}

// setLoggers makes controller-runtime and client-go log through one handler.
func setLoggers(h slog.Handler) {
	ctrl.SetLogger(logr.FromSlogHandler(h))
	klog.SetSlogLogger(slog.New(h))
}
