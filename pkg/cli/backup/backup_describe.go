package backup

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupDescribe(f *command.Factory) *cobra.Command {
	out := printer.NewOutput()
	var repo string
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Show what a backup holds",
		Long: "Show what a backup holds, from the manifest beside it: where it comes from, how far it reaches, whether " +
			"it was ever restored.",
		Example: `  # Describe a backup of the default repository
  kubectl dbop backup describe my-db-20261121T101500Z-0a1b`,
		Args:              command.Arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: command.CompleteBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupDescribe(cmd.Context(), f, out, repo, args[0])
		},
	}
	out.AddTo(cmd)
	command.AddRepositoryFlag(cmd, &repo, "the backup")
	return cmd
}

func runBackupDescribe(ctx context.Context, f *command.Factory, out *printer.Output, repo, id string) error {
	r, m, err := f.FindBackup(ctx, repo, id, "")
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if !out.Human() {
		return out.Print(f.Streams.Out, "Backup", m)
	}
	describeBackup(f.Streams.Out, r.URL(), m, f.Now())
	return nil
}

func describeBackup(w io.Writer, url string, m repository.Manifest, now time.Time) {
	verified := "never"
	if v := m.Verified; v != nil {
		verified = fmt.Sprintf("%s (%s ago), served by %s %s", v.Time.UTC().Format(time.RFC3339), printer.Age(now, v.Time),
			m.Engine, v.Version)
		if v.Checked != "" {
			verified += "; " + v.Checked
		}
	} else if m.Proof != "" {
		verified = fmt.Sprintf("never; its bytes were found %s %s (%s ago)", m.Proof, m.ProvenAt.UTC().Format(time.RFC3339),
			printer.Age(now, m.ProvenAt))
	}
	auth := "no"
	if m.Facts.Auth {
		auth = "yes: clients need credentials after a restore"
	}
	from := m.Member + ", cluster ID " + m.ClusterID
	switch {
	case m.Member == "":
		from = m.Origin
	case m.Origin != "":
		from += "; " + m.Origin
	}
	lines := [][2]string{
		{"Name", m.ID},
		{"Repository", url},
		{"Cluster", m.Cluster + " in namespace " + m.Namespace},
		{"Engine", m.Engine + " " + m.Version},
		{"Taken from", from},
		{"Finished",
			fmt.Sprintf("%s (%s ago), took %s", m.FinishedAt.UTC().Format(time.RFC3339), printer.Age(now, m.FinishedAt),
				printer.Span(m.FinishedAt.Sub(m.StartedAt)))},
		{"Size", fmt.Sprintf("%s (%d bytes)", printer.Size(m.Bytes), m.Bytes)},
		{"SHA-256", m.SHA256},
	}
	if m.Parent != "" {
		lines = append(lines, [2]string{"Adds to", m.Parent + ": it holds what changed since"})
	}
	for _, r := range m.Facts.Readings {
		if r.Name == "" {
			continue
		}
		lines = append(lines, [2]string{strings.ToUpper(r.Name[:1]) + r.Name[1:], r.Value})
	}
	lines = append(lines, [2]string{"Data format", printer.OrUnknown(m.Facts.Schema)})
	if len(m.Facts.Members) > 0 {
		lines = append(lines, [2]string{"Members", printer.OrNone(m.Facts.Members)})
	}
	if t := m.RetainUntil; t != nil {
		lines = append(lines, [2]string{"Retained", "until " + t.Format(time.RFC3339) + " by the store it was written to"})
	}
	if p := m.FailedProof; p != nil {
		lines = append(lines, [2]string{"Failed proof", fmt.Sprintf("%s (%s ago): it is not %s: %s",
			p.Time.UTC().Format(time.RFC3339), printer.Age(now, p.Time), p.Level, cmp.Or(p.Reason, "no reason is known"))})
	}
	lines = append(lines, [][2]string{
		{"Users in data", auth},
		{"Verified", verified},
		{"Taken by", takenBy(m)},
		{"Operation", m.Operation},
		{"Made by", m.Tool},
	}...)
	for _, line := range lines {
		fmt.Fprintf(w, "%-14s %s\n", line[0]+":", strings.TrimSpace(line[1]))
	}
}

// takenBy says whether the retention of a schedule may delete it.
func takenBy(m repository.Manifest) string {
	if m.Scheduled {
		return "a schedule, which deletes it in its time"
	}
	return "hand, or an operation: it stays until it is deleted"
}
