package main

import (
	"io"
	"log/slog"
	"strings"
	"testing"
)

func TestACommandLineThatCannotWorkIsRefused(t *testing.T) {
	good := []string{"--image", "i", "--platform-namespace", "p"}
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"no image":                        {[]string{"--platform-namespace", "p", "--image", ""}, "--image"},
		"no platform":                     {[]string{"--image", "i", "--platform-namespace", ""}, "--platform-namespace"},
		"a default that is no name":       {append(good, "--default-decision-service", "a/b/c"), "NAMESPACE/NAME"},
		"metrics in the clear for anyone": {append(good, "--metrics-address", ":8080"), "--metrics-secure"},
		"a pull policy that is none":      {append(good, "--image-pull-policy", "Sometimes"), "IfNotPresent"},
		"a level that is none":            {append(good, "--log-level", "loud"), "--log-level"},
		"an argument":                     {append(good, "x"), "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newCommand(func(slog.Handler) {})
			cmd.SetArgs(tc.args)
			cmd.SetOut(io.Discard)
			if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("err %v does not say %q", err, tc.says)
			}
		})
	}
}

func TestMetricsAreInTheClearOnLoopbackOnly(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:1": true, "localhost:1": true, ":8080": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "nonsense": false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("isLoopback(%s) = %v", address, got)
		}
	}
}
