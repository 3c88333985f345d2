package access

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// NewCertificates makes the command certificates.
func NewCertificates(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certificates COMMAND",
		Short: "Show and rotate a cluster's certificates",
		Long: "Show and rotate the certificates of a cluster: those of its members, of its clients and of the authority " +
			"that signs them.",
		Example: `  # Renew every certificate of my-db
  kubectl dbop certificates rotate my-db`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newCertificatesShow(f))
	cmd.AddCommand(newCertificatesRotate(f))
	return cmd
}

// certificateSheet is what show says, for machines.
type certificateSheet struct {
	Namespace    string                  `json:"namespace"`
	Name         string                  `json:"name"`
	Certificates []health.CertificateRow `json:"certificates"`
}

func newCertificatesShow(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide)
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "show [NAME]",
		Short: "Show certificates, when they run out, and what is served",
		Long: `Show every certificate of a cluster: what it is for, when it runs out, and whether the running member
serves it already. A certificate is WARN in its last 30 days, and FAIL once it ran out or can't be used.
Keys are never shown.

Exit codes: 0 all are OK or have at least 30 days left, 10 one ran out or can't be used.`,
		Example: `  # Show the certificates of my-db
  kubectl dbop certificates show my-db

  # Also show issuers, names and fingerprints
  kubectl dbop certificates show my-db -o wide`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCertificatesShow(cmd.Context(), f, out, args, timeout)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of the check, such as 10s.")
	return cmd
}

func runCertificatesShow(ctx context.Context, f *command.Factory, out *printer.Output, args []string,
	timeout time.Duration) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	s, err := f.ObserveOnce(ctx, t, timeout, executor.ReadCertificates)
	if err != nil {
		return err
	}
	sheet := certificateSheet{Namespace: t.Namespace, Name: t.Cluster.Name, Certificates: health.CertificateRows(s)}
	if err := sheet.show(f, out); err != nil {
		return err
	}
	for _, row := range sheet.Certificates {
		if row.Severity == ops.Fail {
			return exit.Outcome(exit.Degraded)
		}
	}
	return nil
}

func (s certificateSheet) show(f *command.Factory, out *printer.Output) error {
	if !out.Human() {
		return out.Print(f.Streams.Out, "CertificateList", s)
	}
	if len(s.Certificates) == 0 {
		f.Note("%s is served in plain text: there are no certificates.", s.Name)
		return nil
	}
	columns := []string{"STATE", "SECRET", "SUBJECT", "USE", "NAMES", "EXPIRES", "DAYS", "LIVE"}
	if out.Wide() {
		columns = append(columns, "ISSUER", "FINGERPRINT")
	}
	t := out.NewTable(columns...)
	for _, c := range s.Certificates {
		live := c.Loaded
		if c.Problem != "" {
			live = c.Problem
		}
		row := []string{string(c.Severity), c.Secret, c.Subject, c.Use, strconv.Itoa(len(c.Names)),
			c.NotAfter.UTC().Format(time.DateOnly), strconv.Itoa(c.DaysLeft), live}
		if out.Wide() {
			row = append(row, c.Issuer, fmt.Sprintf("%.16s", c.Fingerprint))
		}
		t.Row(row...)
	}
	return t.Print(f.Streams.Out, "")
}
