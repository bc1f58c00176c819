package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func newServeCommand() *cobra.Command {
	var c config
	var level string
	cmd := &cobra.Command{
		Use:   "serve --policy FILE --audit-dir DIR | --kube --service NAME",
		Short: "Run a decision service, from policy files or in a cluster",
		Long: `Runs a decision service.

With --policy it needs no cluster: the policies are files, in the same YAML that
a cluster takes, and are taken over when they change. A change that is not good
leaves the last good policies in force and says so in the log. Without
--token-file the service listens on a loopback address only, and every caller is
the ServiceAccount that --caller names.

With --kube it is a replica of a DecisionService: policies are watched on the API
server, callers are known by their ServiceAccounts' tokens, and what is in force
is reported in the status of the replica's DecisionReplica. The manager starts
such replicas. Without an API server a replica starts from the policies that it
had in force last, if that is not longer ago than a day.`,
		Example: `  hookpolicy serve --policy hookpolicy.yaml --audit-dir ./audit
  curl -s http://127.0.0.1:8181/v1/decide -d '{"tool":"db_query_sql","args":{"sql":"SELECT 1"}}'`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.complete(cmd.Flags().Changed), c.check()); err != nil {
				return usageError{err}
			}
			var l slog.Level
			if err := l.UnmarshalText([]byte(level)); err != nil {
				return usageError{fmt.Errorf("--log-level: %w", err)}
			}
			log := newLogger(l)
			s, err := newService(cmd.Context(), c, log)
			if err != nil {
				return err
			}
			attrs := []slog.Attr{slog.String("address", s.addr()), slog.String("auditDir", c.auditDir), slog.String("version", version)}
			if c.kube.on {
				log.LogAttrs(cmd.Context(), slog.LevelInfo, "Decision service is listening", attrs...) // policies come in now
			} else {
				log.LogAttrs(cmd.Context(), slog.LevelInfo, "Decision service is ready", attrs...)
			}
			return s.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&c.policies, "policy", "p", nil, "policy `FILE`, or directory of such; may be repeated")
	f.BoolVar(&c.kube.on, "kube", false, "be a replica of a DecisionService in a cluster")
	f.AddFlagSet(c.kube.flags())
	f.StringVar(&c.auditDir, "audit-dir", "", "`DIR` of the audit chains; made if missing (with --kube default: "+contract.AuditDir+")")
	f.StringVar(&c.anchorFile, "anchor-file", "", "`FILE` on another disk that gets what proves the audit log; lines are only added (audit verify --anchor)")
	f.StringVar(&c.listen, "listen", "127.0.0.1:8181", fmt.Sprintf("`ADDRESS` to serve the decision API on (with --kube default: :%d)", contract.PortReplica))
	f.StringVar(&c.tokenFile, "token-file", "", "`FILE` with a line TOKEN,NAMESPACE,SERVICEACCOUNT for each caller")
	f.StringVar(&c.caller, "caller", "", "who every caller is without --token-file, as `NAMESPACE/SERVICEACCOUNT` (default: one that the first policy governs)")
	f.StringVar(&c.certFile, "tls-cert", "", "certificate `FILE`, PEM; taken over when it changes (with --kube default: "+contract.TLSDir+"/tls.crt)")
	f.StringVar(&c.keyFile, "tls-key", "", "key `FILE` of the certificate, PEM (with --kube default: "+contract.TLSDir+"/tls.key)")
	f.StringVar(&c.adminSocket, "admin-socket", "", "`PATH` of the socket that approve and reject use (default: admin.sock in the audit directory; with --kube "+contract.AdminSocket+")")
	f.StringVar(&c.replica, "replica", hostname(), "`NAME` of this process in records and approvals")
	f.StringVar(&c.unmatched, "unmatched", string(plan.VerdictDeny), "answer to callers that no policy governs: `Deny|Allow`; a baseline's hooks run before an Allow")
	f.StringVar(&level, "log-level", "info", "least `LEVEL` to log: debug, info, warn or error")
	f.IntVar(&c.limits.MaxConnections, "max-connections", 0, "connections at once; further ones wait (default 4096)")
	f.DurationVar(&c.limits.ShutdownTimeout, "shutdown-timeout", 0, "time for requests in work when stopping (default 20s)")
	return cmd
}

// check refuses a command line that cannot work.
func (c *config) check() error {
	switch {
	case len(c.policies) == 0 && !c.kube.on:
		return errors.New("serve needs --policy FILE, or --kube")
	case c.auditDir == "":
		return errors.New("serve needs --audit-dir DIR: what is not recorded is not decided")
	case (c.certFile == "") != (c.keyFile == ""):
		return errors.New("--tls-cert and --tls-key go together")
	case c.tokenFile != "" && c.caller != "":
		return errors.New("--caller goes without --token-file: tokens say who calls")
	case c.unmatched != string(plan.VerdictDeny) && c.unmatched != string(plan.VerdictAllow):
		return fmt.Errorf("--unmatched is Deny or Allow, not %q", c.unmatched)
	}
	return nil
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "standalone"
	}
	return name
}
