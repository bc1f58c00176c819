// Command manager is the operator: it makes of DecisionServices what they
// consist of and reports on policies. It decides nothing: calls go on being
// decided while it is away.
package main

import (
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx := ctrl.SetupSignalHandler()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "manager: %v\n", err)
		os.Exit(1)
	}
}
