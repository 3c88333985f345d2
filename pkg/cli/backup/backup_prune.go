package backup

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/pruning"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

func newBackupPrune(f *command.Factory) *cobra.Command {
	c := command.NewAction(f)
	var repo, zone string
	var by archive.Retention
	cmd := &cobra.Command{
		Use:   "prune NAME",
		Short: "Delete scheduled backups that no rule keeps",
		Long: `Delete scheduled backups of one cluster that no rule keeps. Without a rule those of the cluster's own schedule
count, in the repository that it writes to. Those that no schedule took stay, and so do the newest one, the newest that
was restored and compared, what somebody is about to load, and what is damaged or signed by no trusted key. In a
repository that has a name ages count by the store's clock, and abandoned uploads are collected too, as is the archived
log that no backup needs which stays. What goes was shown before: after the question another one may stay, and none is
added.

With --dry-run it only says what stays, and why.`,
		Example: `  # See what would stay of a week, and of a month in weeks
  kubectl dbop backup prune my-db --repository offsite --keep-daily 7 --keep-weekly 4 --dry-run

  # See what the next run of the schedule lets go
  kubectl dbop backup prune my-db --dry-run`,
		Args:              command.Arguments(1, 1, "the NAME of the cluster"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if by.Last < 0 || by.Daily < 0 || by.Weekly < 0 || by.Monthly < 0 || by.Yearly < 0 || by.Within < 0 {
				return exit.Misuse("a rule can't keep less than nothing")
			}
			if zone != "" {
				var err error
				if by.Location, err = time.LoadLocation(zone); err != nil {
					return exit.Misuse("there is no time zone %q", zone)
				}
			}
			return runBackupPrune(cmd.Context(), f, c, repo, args[0], by)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, true)
	command.AddRepositoryFlag(cmd, &repo, "the backups")
	flags := cmd.Flags()
	flags.IntVar(&by.Last, "keep-last", 0, "Keep so many newest ones.")
	flags.DurationVar(&by.Within, "keep-within", 0, "Keep those that are younger, such as 168h.")
	flags.IntVar(&by.Daily, "keep-daily", 0, "Keep the newest of each of so many days.")
	flags.IntVar(&by.Weekly, "keep-weekly", 0, "Keep the newest of each of so many weeks.")
	flags.IntVar(&by.Monthly, "keep-monthly", 0, "Keep the newest of each of so many months.")
	flags.IntVar(&by.Yearly, "keep-yearly", 0, "Keep the newest of each of so many years.")
	flags.StringVar(&zone, "time-zone", "", "Time zone in which days begin, such as Europe/Berlin; UTC if not set.")
	return cmd
}

// neededHere are the backups that somebody in the namespace is about to load.
func neededHere(ctx context.Context, f *command.Factory) (map[string]bool, error) {
	namespace, store, err := f.Here()
	if err != nil {
		return nil, err
	}
	clusters, err := store.ListClusters(ctx, namespace, "")
	if err != nil {
		return nil, err
	}
	operations, err := store.ListOperations(ctx, namespace, "")
	if err != nil {
		return nil, err
	}
	return pruning.Needed(clusters, operations), nil
}

func runBackupPrune(ctx context.Context, f *command.Factory, c *command.Change, repo, cluster string,
	by archive.Retention) error {
	var r repository.Repository
	var shown *archive.Plan
	err := c.Within(ctx, func(ctx context.Context) error {
		opened, err := f.OpenRepository(ctx, repo, cluster, "")
		if err != nil {
			return err
		}
		r = opened
		if by, err = rules(ctx, f, r.URL(), cluster, by); err != nil {
			return err
		}
		var damaged []*repository.Damaged
		shown, damaged, err = planPrune(ctx, f, r, cluster, by, true)
		for _, d := range damaged {
			f.Note("%s is damaged: it stays, and is no reason to delete another: %v", d.ID, d.Err)
		}
		return err
	})
	if r != nil {
		defer func() { _ = r.Close() }()
	}
	if err != nil {
		return err
	}
	gone, err := showPrune(f, c.Out, shown)
	if err != nil {
		return err
	}
	if c.DryRun != command.DryRunNone {
		f.Note("%d of %d backups%s would be deleted (dry run)", len(gone), len(shown.Decisions), andLog(segmentsOf(shown)))
		return nil
	}
	if n := segmentsOf(shown); len(gone)+n > 0 && !c.Yes {
		namespace, err := f.Namespace()
		if err != nil {
			return err
		}
		q := command.Question{What: fmt.Sprintf("Delete %d backups%s of %s from %s", len(gone), andLog(n), cluster, r.URL()),
			Lost: gone}
		if err := f.Confirm(ctx, command.Intent{Namespace: namespace, Subject: "repository/" + r.URL()}, q); err != nil {
			return err
		}
	}
	var done *archive.Result
	if err := c.Within(ctx, func(ctx context.Context) error {
		// The answer may have taken long: what is needed by now stays, too.
		now, _, err := planPrune(ctx, f, r, cluster, by, false)
		if err != nil {
			return err
		}
		now.Only(shown)
		done, err = pruning.Prune(ctx, r, now)
		return err
	}); err != nil {
		return err
	}
	noteDeleted(ctx, f, r.URL(), cluster, done.Deleted...)
	f.Note("%d backups%s deleted, %d are retained by the store or in use, %d leftovers of unfinished backups collected",
		len(done.Deleted), andLog(done.Segments), len(done.Retained), done.Collected)
	return nil
}

// segmentsOf counts what a plan lets go of the log.
func segmentsOf(p *archive.Plan) (n int) {
	for _, l := range p.Log {
		n += l.Segments
	}
	return n
}

// andLog says how many segments of the log go beside backups.
func andLog(segments int) string {
	if segments == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d segments of the log", segments)
}

// rules are what was typed, else what the cluster's own schedule keeps.
func rules(ctx context.Context, f *command.Factory, url, cluster string, by archive.Retention) (archive.Retention,
	error) {
	if by != (archive.Retention{Location: by.Location}) {
		return by, nil
	}
	c, err := f.ClusterIfAny(ctx, cluster)
	if err != nil {
		return by, err
	}
	own, zone := backups.OfSchedule(c, url)
	if own.KeepsAll() {
		return by, nil
	}
	f.Note("The schedule of %s keeps %s.", cluster, own.Kept())
	out, err := backups.RetentionOf(own, zone)
	if by.Location != nil {
		out.Location = by.Location
	}
	return out, err
}

// planPrune spares what somebody in the namespace is about to load.
func planPrune(ctx context.Context, f *command.Factory, r repository.Repository, cluster string,
	by archive.Retention, show bool) (*archive.Plan, []*repository.Damaged, error) {
	keep, err := neededHere(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, nil, err
	}
	return pruning.Plan(ctx, r, pruning.Rule{Namespace: namespace, Cluster: cluster, By: by, Needed: keep,
		Engine: f.EngineNamed, Show: show, Now: f.Now()})
}

// pruneSheet is what prune says, for machines.
type pruneSheet struct {
	Decisions []archive.Decision `json:"decisions"`
	Unsigned  []archive.Entry    `json:"unsigned,omitempty"`
	Log       []archive.Part     `json:"log,omitempty"`
}

// showPrune prints the plan and names what goes.
func showPrune(f *command.Factory, out *printer.Output, plan *archive.Plan) ([]string, error) {
	var gone []string
	t := out.NewTable("NAME", "KEPT", "REASON", "AGE")
	for _, d := range plan.Decisions {
		kept := "yes"
		if !d.Keep {
			kept, gone = "no", append(gone, d.ID)
		}
		t.Row(d.ID, kept, d.Reason, f.Age(d.Stored))
	}
	for _, e := range plan.Unsigned {
		f.Note("%s is signed by nobody who is trusted here: it stays, and is no reason to delete another", e.ID)
	}
	for _, l := range plan.Log {
		f.Note("LOG: %d segments (%s) of timeline %s are needed by no backup that stays", l.Segments, printer.Size(l.Bytes),
			l.Timeline)
	}
	if !out.Human() {
		return gone, out.Print(f.Results(), "BackupPrune", pruneSheet{plan.Decisions, plan.Unsigned, plan.Log})
	}
	return gone, t.Print(f.Results(), "")
}
