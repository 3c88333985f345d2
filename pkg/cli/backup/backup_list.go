package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func newBackupList(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide, printer.FormatName)
	var repo string
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the backups of a repository",
		Long: `List the backups of one cluster, or of all, newest first. Without --repository they are those in the cluster's
repository; without NAME, those in the repositories of all clusters of the namespace and in your default one. The
cluster need not exist any more. A backup whose manifest can't be read is listed as DAMAGED.`,
		Example: `  # List the backups of my-db in its repository
  kubectl dbop backup list my-db

  # List everything in a directory
  kubectl dbop backup list --repository dir:/backups`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return runBackupList(cmd.Context(), f, out, repo, name)
		},
	}
	out.AddTo(cmd)
	command.AddRepositoryFlag(cmd, &repo, "the backups")
	return cmd
}

// backupList is what list says, for machines.
type backupList struct {
	Items   []listedBackup  `json:"items"`
	Damaged []damagedBackup `json:"damaged,omitempty"`
	// repositories are those that were listed.
	repositories []string
}

type listedBackup struct {
	repository.Manifest `json:",inline"`

	Repository string `json:"repository"`
	// Until is the last moment to which the archived log brings it, Gap the first file that is missing after that.
	Until *time.Time `json:"until,omitempty"`
	Gap   string     `json:"gap,omitempty"`
}

type damagedBackup struct {
	ID         string `json:"id"`
	Repository string `json:"repository"`
	Reason     string `json:"reason"`
	// state is what the table says of it.
	state string
}

func runBackupList(ctx context.Context, f *command.Factory, out *printer.Output, repo, name string) error {
	urls := []string{repo}
	if repo == "" && name == "" {
		var err error
		if urls, err = allRepositories(ctx, f); err != nil {
			return err
		}
	}
	found := backupList{Items: []listedBackup{}}
	var failed []error
	for i, url := range urls {
		err := found.add(ctx, f, url, name)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue // nobody backed up to the default repository yet
		}
		failed = append(failed, err)
	}
	slices.SortStableFunc(found.Items, func(a, b listedBackup) int { return b.StartedAt.Compare(a.StartedAt) })
	if err := found.show(f, out); err != nil {
		return err
	}
	return errors.Join(failed...)
}

// allRepositories are those of all clusters of the namespace, and the default
// one last. Where no API server answers, only the default one is known.
func allRepositories(ctx context.Context, f *command.Factory) ([]string, error) {
	var urls []string
	add := func(url string) {
		if !slices.Contains(urls, url) {
			urls = append(urls, url)
		}
	}
	namespace, store, err := f.Here()
	if err == nil {
		var clusters []v1alpha1.DatabaseCluster
		clusters, err = store.ListClusters(ctx, namespace, "")
		for i := range clusters {
			if url := clusters[i].Spec.Backup.Repository; url != "" {
				add(url)
			}
		}
	}
	if err != nil {
		f.Note("The clusters of the namespace could not be listed, only the default repository is: %v", err)
	}
	at, err := f.Location("", nil)
	if err != nil {
		return nil, err
	}
	add(at.String())
	return urls, nil
}

// add lists one repository.
func (l *backupList) add(ctx context.Context, f *command.Factory, url, name string) error {
	r, err := f.OpenRepository(ctx, url, name, "")
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	backups, err := r.List(ctx, name)
	damaged, err := repository.SplitDamaged(err)
	if err != nil {
		return err
	}
	l.repositories = append(l.repositories, r.URL())
	var archived planner.Windows
	for _, m := range backups {
		b := listedBackup{Manifest: m, Repository: r.URL()}
		if e, err := f.EngineNamed(m.Engine); err == nil {
			w, _, err := archived.Of(ctx, e, r, m)
			if err != nil {
				return err
			}
			if b.Gap = w.Gap; w.To.After(m.FinishedAt) {
				b.Until = &w.To
			}
		}
		l.Items = append(l.Items, b)
	}
	for _, d := range damaged {
		state := "UNREADABLE"
		if errors.Is(d, repository.ErrDamaged) {
			state = "DAMAGED"
		}
		l.Damaged = append(l.Damaged, damagedBackup{ID: d.ID, Repository: r.URL(), Reason: d.Error(), state: state})
	}
	return nil
}

func (l *backupList) show(f *command.Factory, out *printer.Output) error {
	if out.Human() {
		for _, url := range l.repositories {
			f.Note("Repository: %s", url)
		}
	}
	for _, d := range l.Damaged {
		f.Note("%s: %s: %s", d.state, d.ID, d.Reason)
		if d.state == "DAMAGED" {
			f.Note("  %s backup delete %s --repository %s deletes it", command.DisplayName, d.ID, d.Repository)
		}
	}
	for _, b := range l.Items {
		if b.FailedProof != nil && out.Human() {
			f.Note("FAILED: the last verification of %s found that it is not %s", b.ID, b.FailedProof.Level)
			f.Note("  %s backup describe %s --repository %s tells why", command.DisplayName, b.ID, b.Repository)
		}
		if b.Gap != "" && out.Human() {
			f.Note("GAP: %s: file %s of the log is missing in the archive", b.ID, b.Gap)
		}
	}
	switch {
	case !out.Human():
		return out.Print(f.Streams.Out, "BackupList", l)
	case len(l.Items)+len(l.Damaged) == 0:
		if len(l.repositories) > 0 {
			f.Note("No backups found.")
		}
		return nil
	case out.Name():
		for _, b := range l.Items {
			fmt.Fprintln(f.Streams.Out, "backup/"+b.ID)
		}
		for _, d := range l.Damaged {
			fmt.Fprintln(f.Streams.Out, "backup/"+d.ID)
		}
		return nil
	}
	return l.table(f, out).Print(f.Streams.Out, "")
}

// verifiedText is when a backup was proven last: to be restorable, or else less than that. What failed since comes
// first.
func verifiedText(f *command.Factory, b listedBackup) string {
	switch failed := b.FailedProof; {
	case failed != nil && failed.Level == repository.LevelRestorable:
		return "FAILED " + f.Age(failed.Time)
	case failed != nil:
		return "FAILED " + string(failed.Level) + " " + f.Age(failed.Time)
	case b.Verified != nil:
		return f.Age(b.Verified.Time)
	case b.Proof != "":
		return b.Proof + " " + f.Age(b.ProvenAt)
	}
	return "no"
}

func (l *backupList) table(f *command.Factory, out *printer.Output) *printer.Table {
	columns := []string{"NAME", "CLUSTER", "ENGINE", "VERSION", "SIZE", "VERIFIED"}
	several := len(l.repositories) > 1
	forward := slices.ContainsFunc(l.Items, func(b listedBackup) bool { return b.Until != nil })
	if forward {
		columns = append(columns, "RESTORABLE-UNTIL")
	}
	adds := slices.ContainsFunc(l.Items, func(b listedBackup) bool { return b.Parent != "" })
	if adds {
		columns = append(columns, "ADDS-TO")
	}
	var readings printer.Readings
	if several {
		columns = append(columns, "REPOSITORY")
	}
	if out.Wide() {
		for _, b := range l.Items {
			readings.Add(b.Facts.Readings)
		}
		columns = slices.Concat(columns, []string{"NAMESPACE"}, readings.Columns(), []string{"MEMBER", "SHA256"})
	}
	t := out.NewTable(append(columns, "AGE")...)
	for _, b := range l.Items {
		row := []string{b.ID, b.Cluster, b.Engine, b.Version, printer.Size(cmp.Or(b.Bytes, b.Stored)), verifiedText(f, b)}
		if forward {
			until := printer.Unknown
			if b.Until != nil {
				until = b.Until.UTC().Format(time.RFC3339)
			}
			row = append(row, until)
		}
		if adds {
			row = append(row, cmp.Or(b.Parent, "none"))
		}
		if several {
			row = append(row, b.Repository)
		}
		if out.Wide() {
			row = slices.Concat(row, []string{b.Namespace}, readings.Row(b.Facts.Readings), []string{b.Member, b.SHA256})
		}
		t.Row(append(row, f.Age(b.FinishedAt))...)
	}
	for _, d := range l.Damaged {
		row := []string{d.ID, repository.ClusterOf(d.ID), printer.Unknown, printer.Unknown, printer.Unknown, d.state}
		if forward {
			row = append(row, printer.Unknown)
		}
		if adds {
			row = append(row, printer.Unknown)
		}
		if several {
			row = append(row, d.Repository)
		}
		for len(row) < len(columns)+1 {
			row = append(row, printer.Unknown)
		}
		t.Row(row...)
	}
	return t
}
