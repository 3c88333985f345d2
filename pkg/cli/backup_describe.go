package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupDescribe(f *Factory) *cobra.Command {
	out := newOutput()
	var repo string
	cmd := &cobra.Command{
		Use:   "describe ID",
		Short: "Show what a backup holds",
		Long:  "Show what a backup holds, from the manifest beside it: where it comes from, how far it reaches, whether it was ever restored.",
		Example: `  # Describe a backup of the default repository
  kubectl dbop backup describe my-db-20261121T101500Z-0a1b`,
		Args:              arguments(1, 1, "the ID of the backup"),
		ValidArgsFunction: completeBackups(f, &repo),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runBackupDescribe(cmd.Context(), f, out, repo, args[0])
		},
	}
	out.addTo(cmd)
	addRepositoryFlag(cmd, &repo, "the backup")
	return cmd
}

func runBackupDescribe(ctx context.Context, f *Factory, out *output, repo, id string) error {
	r, m, err := f.findBackup(ctx, repo, id, "")
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if !out.human() {
		return out.print(f.Streams.Out, "Backup", m)
	}
	describeBackup(f.Streams.Out, r.URL(), m, f.Now())
	return nil
}

func describeBackup(w io.Writer, url string, m repository.Manifest, now time.Time) {
	verified := "never"
	if v := m.Verified; v != nil {
		verified = fmt.Sprintf("%s (%s ago), served by %s %s", v.Time.UTC().Format(time.RFC3339), age(now, v.Time), m.Engine, v.Version)
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
	for _, line := range [][2]string{
		{"Name", m.ID},
		{"Repository", url},
		{"Cluster", m.Cluster + " in namespace " + m.Namespace},
		{"Engine", m.Engine + " " + m.Version},
		{"Taken from", from},
		{"Finished", fmt.Sprintf("%s (%s ago), took %s", m.FinishedAt.UTC().Format(time.RFC3339), age(now, m.FinishedAt), span(m.FinishedAt.Sub(m.StartedAt)))},
		{"Size", fmt.Sprintf("%s (%d bytes)", size(m.Bytes), m.Bytes)},
		{"SHA-256", m.SHA256},
		{"Revision", itoa(m.Facts.Revision)},
		{"Keys", itoa(m.Facts.Keys)},
		{"Data format", orUnknown(m.Facts.Schema)},
		{"Members", orNone(m.Facts.Members)},
		{"Users in data", auth},
		{"Verified", verified},
		{"Taken by", takenBy(m)},
		{"Operation", m.Operation},
		{"Made by", m.Tool},
	} {
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

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
