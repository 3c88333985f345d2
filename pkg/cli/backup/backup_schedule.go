package backup

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// scheduleFlags are what a schedule is made of.
type scheduleFlags struct {
	repository, zone, helper, verify, full string
	keep                                   v1alpha1.Retention
	remove                                 bool
}

func newBackupSchedule(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	s := &scheduleFlags{}
	cmd := &cobra.Command{
		Use:   "schedule NAME [SCHEDULE]",
		Short: "Show, set or remove when a cluster is backed up",
		Long: `Show, set or remove the schedule of a cluster's backups. SCHEDULE is that of cron: minute, hour, day of
month, month, day of week. Without it the schedule is shown.

A CronJob in the cluster's namespace takes the backups with this program, into a claim of that namespace or an
object store, with or without an operator. With --keep and the like each run deletes the oldest backups that the
schedule took. It never deletes backups that people or operations took, nor the newest verified one. With --verify
the first run of each day, week or month restores its backup into a throw-away member and compares. A missed or
failed backup shows in 'kubectl dbop status'.

With --full the first run of each day, week or month takes all data, and the others what changed since the newest
full backup there, as 'kubectl dbop backup --incremental' does: of PostgreSQL 17 or later whose setting summarize_wal
is on. Where nobody can tell what changed, a run takes all data.

It creates a service account with a Role of its own. The stock ClusterRole admin may do that, and edit may
not.`,
		Example: `  # Back up my-db each night, and keep a week of it
  kubectl dbop backup schedule my-db "0 2 * * *" --keep 7 --repository pvc:backups --time-zone Europe/Berlin

  # Keep all of a week and one of each of four weeks in an object store, and prove one a week
  kubectl dbop backup schedule my-db "0 2 * * *" --keep 7d --keep-weekly 4 --verify weekly --repository offsite

  # Take all data of a PostgreSQL each week, and what changed since each night
  kubectl dbop backup schedule my-db "0 2 * * *" --full weekly --keep 30d --repository offsite

  # Show the schedule of my-db
  kubectl dbop backup schedule my-db

  # Take one more now, by the same means
  kubectl create job --from=cronjob/my-db-backup my-db-backup-now

  # Take no scheduled backups any more
  kubectl dbop backup schedule my-db --remove`,
		Args:              command.Arguments(1, 2, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			made := append(retentionNames(), "verify", "full", "time-zone", "repository", "helper-image")
			given := func(names ...string) bool {
				for _, n := range names {
					if cmd.Flags().Changed(n) {
						return true
					}
				}
				return false
			}
			switch {
			case s.remove && (len(args) > 1 || given(made...)):
				return exit.Misuse("--remove goes alone")
			case len(args) == 1 && !s.remove && given(made...):
				return exit.Misuse("a SCHEDULE is missing, for example \"0 2 * * *\"")
			}
			if err := checkRetention(s.keep); err != nil {
				return err
			}
			t, in, err := c.Begin(cmd.Context(), v1alpha1.VerbSchedule, args[:1])
			if err != nil {
				return err
			}
			if len(args) == 1 && !s.remove {
				return showSchedule(cmd.Context(), f, c.Out, t)
			}
			spec := &in.Request.Operation
			spec.Policy = &v1alpha1.BackupPolicy{Repository: t.Cluster.Spec.Backup.Repository}
			in.Verbed, in.Next = "not backed up by schedule any more", ""
			if !s.remove {
				at, err := f.Location(s.repository, t.Cluster)
				if err != nil {
					return err
				}
				spec.Policy = &v1alpha1.BackupPolicy{Repository: at.String(), Schedule: args[1], TimeZone: s.zone,
					Retention: s.keep, Verify: v1alpha1.Interval(s.verify),
					Full: v1alpha1.Interval(s.full)}
				spec.Image = f.HelperImage(s.helper, t.Cluster)
				in.Verbed, in.Next = "backed up by schedule", command.DisplayName+" backup schedule "+t.Cluster.Name
			}
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.ShortTimeout, false)
	command.AddRepositoryFlag(cmd, &s.repository, "scheduled backups")
	addRetention(cmd, &s.keep)
	cmd.Flags().StringVar(&s.verify, "verify", "", "Verify a backup: daily, weekly or monthly. Never if not set.")
	cmd.Flags().StringVar(&s.full, "full", "",
		"Take all data once each day, week or month, and else what changed since: daily, weekly or monthly. "+
			"PostgreSQL 17 or later.")
	cmd.Flags().StringVar(&s.zone, "time-zone", "",
		"Time zone of the schedule, such as Europe/Berlin. By default that of the cluster's controllers, mostly UTC.")
	cmd.Flags().StringVar(&s.helper, "helper-image", "",
		"Image of this tool that takes the backups (environment: "+command.EnvHelperImage+").")
	cmd.Flags().BoolVar(&s.remove, "remove", false, "Take no scheduled backups any more. Those that exist stay.")
	return cmd
}

// scheduleSheet is what is said of a schedule, for machines.
type scheduleSheet struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Schedule  *health.Schedule `json:"schedule,omitempty"`

	LastBackup *v1alpha1.BackupReference `json:"lastBackup,omitempty"`
}

// showSchedule exits with ExitDegraded if a backup is missing that should be there.
func showSchedule(ctx context.Context, f *command.Factory, out *printer.Output, t *clients.Target) error {
	s, err := f.ObserveOnce(ctx, t, command.ObserveWithin, nil)
	if err != nil {
		return err
	}
	sheet := scheduleSheet{Namespace: t.Namespace, Name: t.Cluster.Name, Schedule: health.Scheduled(s),
		LastBackup: s.Cluster.Status.LastBackup}
	switch {
	case out.Name():
		fmt.Fprintln(f.Streams.Out, "cronjob/"+v1alpha1.Schedule(t.Cluster.Name))
	case !out.Human():
		err = out.Print(f.Results(), "BackupSchedule", sheet)
	case s.Cluster.Spec.Backup.Schedule == "":
		f.Note("%s has no schedule of backups.", t.Cluster.Name)
	case sheet.Schedule == nil:
		f.Note("%s is to be backed up at %q; whether it is could not be found out: the right to get cronjobs is missing.",
			t.Cluster.Name, s.Cluster.Spec.Backup.Schedule)
	default:
		sheet.print(f.Results(), f.Now())
	}
	if err == nil && sheet.Schedule != nil && sheet.Schedule.Problem != "" {
		return exit.Outcome(exit.Degraded)
	}
	return err
}

func (s scheduleSheet) print(w io.Writer, now time.Time) {
	p := s.Schedule.Policy
	zone, keep, verify, full := p.TimeZone, "all", "never", ""
	if zone == "" {
		zone = "of the cluster's controllers"
	}
	if !p.KeepsAll() {
		keep = p.Kept() + ", and the newest verified one"
	}
	if p.Verify != "" {
		verify = string(p.Verify)
	}
	if p.Full != "" {
		full = string(p.Full) + ", else what changed since"
	}
	for _, line := range [][2]string{
		{"Cluster", s.Name + " in namespace " + s.Namespace},
		{"Schedule", p.Schedule},
		{"Time zone", zone},
		{"Repository", p.Repository},
		{"All data", full},
		{"Kept", keep},
		{"Verified", verify},
		{"CronJob", v1alpha1.Schedule(s.Name)},
		{"State", s.Schedule.State()},
		{"Newest backup", command.BackupText(s.LastBackup, now)},
		{"Next", command.NextText(s.Schedule, now)},
	} {
		if line[1] != "" {
			fmt.Fprintf(w, "%-14s %s\n", line[0]+":", line[1])
		}
	}
}
