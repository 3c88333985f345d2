package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// scheduleFlags are what a schedule is made of.
type scheduleFlags struct {
	repository, zone, helper string
	keep                     int32
	remove                   bool
}

func newBackupSchedule(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	s := &scheduleFlags{}
	cmd := &cobra.Command{
		Use:   "schedule NAME [SCHEDULE]",
		Short: "Show, set or remove when a cluster is backed up",
		Long: `Show, set or remove when a cluster is backed up. SCHEDULE is as cron has it: minute, hour, day of month, month, day of
week. Without it the schedule is shown.

A CronJob in the cluster's namespace takes the backups with this very program, into a claim of that namespace, with
or without an operator. With --keep each run deletes the oldest of those that the schedule took; backups taken by
hand, those that operations take for safety, and the newest verified one always stay. A missed or failed backup
shows in 'kubectl dbop status'.

It makes a service account with a Role of its own, which the stock ClusterRole admin may, and edit may not.`,
		Example: `  # Back up my-db each night, and keep a week of it
  kubectl dbop backup schedule my-db "0 2 * * *" --keep 7 --repository pvc:backups --time-zone Europe/Berlin

  # Show the schedule of my-db
  kubectl dbop backup schedule my-db

  # Take one more now, by the same means
  kubectl create job --from=cronjob/my-db-backup my-db-backup-now

  # Take no scheduled backups any more
  kubectl dbop backup schedule my-db --remove`,
		Args:              arguments(1, 2, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := func(names ...string) bool {
				for _, n := range names {
					if cmd.Flags().Changed(n) {
						return true
					}
				}
				return false
			}
			switch {
			case s.remove && (len(args) > 1 || given("keep", "time-zone", "repository", "helper-image")):
				return misuse("--remove goes alone")
			case len(args) == 1 && !s.remove && given("keep", "time-zone", "repository", "helper-image"):
				return misuse("a SCHEDULE is missing, for example \"0 2 * * *\"")
			case s.keep < 0:
				return misuse("--keep can't be negative; 0 keeps all")
			}
			t, in, err := c.begin(cmd.Context(), v1alpha1.VerbSchedule, args[:1])
			if err != nil {
				return err
			}
			if len(args) == 1 && !s.remove {
				return showSchedule(cmd.Context(), f, c.out, t)
			}
			spec := &in.request.Operation
			spec.Policy = &v1alpha1.BackupPolicy{Repository: t.cluster.Spec.Backup.Repository}
			in.verbed, in.next = "not backed up by schedule any more", ""
			if !s.remove {
				at, err := f.location(s.repository, t.cluster)
				if err != nil {
					return err
				}
				spec.Policy = &v1alpha1.BackupPolicy{Repository: at.String(), Schedule: args[1], TimeZone: s.zone, Keep: s.keep}
				spec.Image = f.helperImage(s.helper, t.cluster)
				in.verbed, in.next = "backed up by schedule", displayName+" backup schedule "+t.cluster.Name
			}
			return c.run(cmd.Context(), in)
		},
	}
	c.addTo(cmd, shortTimeout, false)
	addRepositoryFlag(cmd, &s.repository, "scheduled backups")
	cmd.Flags().Int32Var(&s.keep, "keep", 0, "How many scheduled backups stay; 0 for all.")
	cmd.Flags().StringVar(&s.zone, "time-zone", "", "Time zone of the schedule, such as Europe/Berlin. By default that of the cluster's controllers, mostly UTC.")
	cmd.Flags().StringVar(&s.helper, "helper-image", "", "Image of this tool that takes the backups (environment: "+envHelperImage+").")
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
func showSchedule(ctx context.Context, f *Factory, out *output, t *target) error {
	r, err := f.Clients.Runner(RunnerOptions{Engine: t.engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return err
	}
	world := r.World(t.namespace, t.cluster.Name)
	defer func() { _ = world.Close() }()
	s, err := f.observe(ctx, t, world, lookWithin)
	if err != nil {
		return err
	}
	sheet := scheduleSheet{Namespace: t.namespace, Name: t.cluster.Name, Schedule: health.Scheduled(s), LastBackup: s.Cluster.Status.LastBackup}
	switch {
	case out.name():
		fmt.Fprintln(f.Streams.Out, "cronjob/"+v1alpha1.Schedule(t.cluster.Name))
	case !out.human():
		err = out.print(f.results(), "BackupSchedule", sheet)
	case s.Cluster.Spec.Backup.Schedule == "":
		f.note("%s has no schedule of backups.", t.cluster.Name)
	case sheet.Schedule == nil:
		f.note("%s is to be backed up at %q; whether it is could not be looked at: the right to get cronjobs is missing.", t.cluster.Name, s.Cluster.Spec.Backup.Schedule)
	default:
		sheet.print(f.results(), f.Now())
	}
	if err == nil && sheet.Schedule != nil && sheet.Schedule.Problem != "" {
		return &outcome{ExitDegraded}
	}
	return err
}

func (s scheduleSheet) print(w io.Writer, now time.Time) {
	p := s.Schedule.Policy
	zone, keep := p.TimeZone, "all"
	if zone == "" {
		zone = "of the cluster's controllers"
	}
	if p.Keep > 0 {
		keep = fmt.Sprintf("the newest %d, and the newest verified one", p.Keep)
	}
	for _, line := range [][2]string{
		{"Cluster", s.Name + " in namespace " + s.Namespace},
		{"Schedule", p.Schedule},
		{"Time zone", zone},
		{"Repository", p.Repository},
		{"Kept", keep},
		{"CronJob", v1alpha1.Schedule(s.Name)},
		{"State", s.Schedule.State()},
		{"Newest backup", backupText(s.LastBackup, now)},
		{"Next", nextText(s.Schedule, now)},
	} {
		fmt.Fprintf(w, "%-14s %s\n", line[0]+":", line[1])
	}
}

// nextText is when the next backup is due.
func nextText(s *health.Schedule, now time.Time) string {
	if s.Next == nil {
		return "none"
	}
	return fmt.Sprintf("%s, in %s", s.Next.UTC().Format(time.RFC3339), span(s.Next.Sub(now)))
}
