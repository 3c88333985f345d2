package backup

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// NewBackup makes the command backup, and the commands about backups below it.
func NewBackup(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	var repo, to string
	var verify, scheduled, incremental bool
	var keep v1alpha1.Retention
	var every, full, zone string
	var within time.Duration
	outside := &command.ExternalFlags{}
	cmd := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Back up a cluster",
		Long: `Back up a cluster: a consistent copy of one member is streamed into a repository, checked on the way and
opened afterwards. With --verify it is also restored into a throw-away member and compared. It is a snapshot of etcd, a
base backup of PostgreSQL, or an RDB file of Valkey and Redis.

With --incremental only what changed since the newest full backup in the repository is taken: of PostgreSQL 17 or later
whose setting summarize_wal is on. A restore of it reads both. The full backup stays as long as one that adds to it.

A database that something else made is backed up by --from-statefulset, --selector or --endpoints, see
'kubectl dbop inspect'. Its backup is like any other: verify it, and restore it into a cluster of this tool's.`,
		Example: `  # Back up my-db to the default repository
  kubectl dbop backup my-db

  # Back up to a directory and prove that it can be restored
  kubectl dbop backup my-db --to /backups --verify

  # Back up what changed since the newest full backup there
  kubectl dbop backup my-db --repository offsite --incremental

  # Back up the etcd of a chart, to bring it into a cluster of this tool's
  kubectl dbop backup --from-statefulset my-etcd --verify`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !keep.KeepsAll() && !scheduled:
				return exit.Misuse("--keep requires --scheduled")
			case every != "" && !scheduled:
				return exit.Misuse("--verify-every requires --scheduled")
			case full != "" && (!scheduled || incremental):
				return exit.Misuse("--full-every requires --scheduled, and excludes --incremental")
			case (scheduled || incremental) && outside.Given():
				return exit.Misuse("--scheduled and --incremental are for clusters of this tool's")
			}
			if to != "" && repo != "" {
				return exit.Misuse("--to and --repository exclude each other")
			}
			if to != "" {
				repo = "dir:" + to
			}
			if outside.Given() {
				if len(args) > 0 {
					return exit.Misuse(
						"%s is a cluster of this tool's: --from-statefulset, --selector and --endpoints are for others", args[0])
				}
				if err := outside.Check("--from-statefulset"); err != nil {
					return err
				}
				return backupExternal(cmd.Context(), f, c, outside, repo, verify)
			}
			t, err := f.Target(cmd.Context(), args)
			if err != nil {
				return err
			}
			spec := f.Operation(cmd.Context(), v1alpha1.VerbBackup, t.Cluster.Name)
			spec.Verify, spec.Scheduled, spec.Retention, spec.TimeZone = verify, scheduled, keep, zone
			spec.Incremental = incremental
			spec.VerifyEvery, spec.FullEvery = v1alpha1.Interval(every), v1alpha1.Interval(full)
			if err := f.BackupTo(&spec, repo, t.Cluster); err != nil {
				return err
			}
			return retryWhileBusy(cmd.Context(), f, within, func() error {
				return c.Run(cmd.Context(),
					command.Intent{Namespace: t.Namespace, Engine: t.Engine, Request: planner.Request{Operation: spec},
						Operation: true,
						Subject:   "backup/" + spec.Backup, Verbed: "created", Settled: nameBackup})
			})
		},
	}
	c.AddTo(cmd, command.StreamTimeout, false)
	command.AddRepositoryFlag(cmd, &repo, "the backup")
	cmd.Flags().StringVar(&to, "to", "", "Directory of this machine to back up to; short for --repository dir:DIR.")
	cmd.Flags().BoolVar(&incremental, "incremental", false,
		"Take only what changed since the newest full backup in the repository. PostgreSQL 17 or later.")
	cmd.Flags().BoolVar(&verify, "verify", false, "Restore the backup into a throw-away member and compare.")
	cmd.Flags().BoolVar(&scheduled, "scheduled", false,
		"Leave the backup to the retention of a schedule, and change nothing else on the way.")
	addRetention(cmd, &keep)
	cmd.Flags().StringVar(&every, "verify-every", "",
		"Verify if none was verified this day, week or month: daily, weekly or monthly.")
	cmd.Flags().StringVar(&full, "full-every", "",
		"Take what changed since the newest full backup, if that is of this day, week or month: daily, weekly or monthly.")
	cmd.Flags().StringVar(&zone, "time-zone", "", "Time zone in which days begin.")
	cmd.Flags().DurationVar(&within, "wait-for-lease", 0,
		"How long to wait for another operation on the cluster to end, such as 30m, before giving up.")
	// What schedules are made of; nobody types it.
	for _, name := range append(retentionNames(), "scheduled", "wait-for-lease", "verify-every", "full-every",
		"time-zone") {
		_ = cmd.Flags().MarkHidden(name)
	}
	_ = cmd.MarkFlagDirname("to")
	cmd.Flags().StringVar(&outside.Name, "from-statefulset", "", "StatefulSet of a database that something else made.")
	outside.AddTo(f, cmd)
	cmd.AddCommand(newBackupSchedule(f))
	cmd.AddCommand(newBackupList(f), newBackupDescribe(f), newBackupVerify(f), newBackupDelete(f),
		newBackupPrune(f), newBackupImport(f))
	return cmd
}

// retryEvery is the pause between two tries of a command that waits for its place.
const retryEvery = 5 * time.Second

// retryWhileBusy repeats what is refused because somebody else acts on the cluster.
func retryWhileBusy(ctx context.Context, f *command.Factory, within time.Duration, work func() error) error {
	deadline, said := time.Now().Add(within), ""
	for {
		err := work()
		if ops.KindOf(err) != ops.Busy || !time.Now().Before(deadline) {
			return err
		}
		if said != err.Error() {
			said = err.Error()
			f.Note("waiting: %s", said)
		}
		timer := time.NewTimer(min(retryEvery, time.Until(deadline)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// nameBackup tells the backup that was made, which is an earlier command's if
// this one continued it.
func nameBackup(in *command.Intent, op *v1alpha1.Operation) {
	in.Subject = "backup/" + op.Spec.Backup
	in.Next = command.DisplayName + " backup describe " + op.Spec.Backup + " --repository " + op.Spec.Repository
}
