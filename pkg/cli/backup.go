package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

func newBackup(f *Factory, m mode) *cobra.Command {
	c := newChange(f, m)
	var repo, to string
	var verify, scheduled bool
	var keep int32
	var patience time.Duration
	outside := &outsideFlags{}
	cmd := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Back up a cluster",
		Long: `Back up a cluster: a consistent copy of one member is streamed into a repository, checked on the way and
opened afterwards. With --verify it is also restored into a throw-away member and compared.

A database that something else made is backed up by --from-statefulset, --selector or --endpoints, see
'kubectl dbop inspect'. Its backup is like any other: verify it, and restore it into a cluster of this tool's.`,
		Example: `  # Back up my-db to the default repository
  kubectl dbop backup my-db

  # Back up to a directory and prove that it can be restored
  kubectl dbop backup my-db --to /backups --verify

  # Back up the etcd of a chart, to bring it into a cluster of this tool's
  kubectl dbop backup --from-statefulset my-etcd --verify`,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.check(); err != nil {
				return err
			}
			switch {
			case keep < 0:
				return misuse("--keep can't be negative; 0 keeps all")
			case keep > 0 && !scheduled:
				return misuse("--keep is of scheduled backups: add --scheduled")
			case scheduled && outside.given():
				return misuse("--scheduled is for clusters of this tool's")
			}
			if to != "" && repo != "" {
				return misuse("--to and --repository exclude each other")
			}
			if to != "" {
				repo = "dir:" + to
			}
			if outside.given() {
				if len(args) > 0 {
					return misuse("%s is a cluster of this tool's: --from-statefulset, --selector and --endpoints are for others", args[0])
				}
				if err := outside.check("--from-statefulset"); err != nil {
					return err
				}
				return backupOutside(cmd.Context(), f, c, outside, repo, verify)
			}
			t, err := f.target(cmd.Context(), args)
			if err != nil {
				return err
			}
			spec := f.operation(cmd.Context(), v1alpha1.VerbBackup, t.cluster.Name)
			spec.Verify, spec.Scheduled, spec.Keep = verify, scheduled, keep
			if err := f.backupTo(&spec, repo, t.cluster); err != nil {
				return err
			}
			return inTurn(cmd.Context(), f, patience, func() error {
				return c.run(cmd.Context(), intent{namespace: t.namespace, engine: t.engine, request: planner.Request{Operation: spec}, operation: true,
					subject: "backup/" + spec.Backup, verbed: "created", settled: nameBackup})
			})
		},
	}
	c.addTo(cmd, longTimeout, false)
	addRepositoryFlag(cmd, &repo, "the backup")
	cmd.Flags().StringVar(&to, "to", "", "Directory of this machine to back up to; short for --repository dir:DIR.")
	cmd.Flags().BoolVar(&verify, "verify", false, "Restore the backup into a throw-away member and compare.")
	cmd.Flags().BoolVar(&scheduled, "scheduled", false, "Leave the backup to the retention of a schedule, and change nothing else on the way.")
	cmd.Flags().Int32Var(&keep, "keep", 0, "With --scheduled, how many scheduled backups stay; older ones are deleted afterwards. 0 for all.")
	cmd.Flags().DurationVar(&patience, "wait-for-turn", 0, "How long to wait for another operation on the cluster to end, such as 30m, before giving up.")
	_ = cmd.MarkFlagDirname("to")
	cmd.Flags().StringVar(&outside.name, "from-statefulset", "", "StatefulSet of a database that something else made.")
	outside.addTo(f, cmd)
	cmd.AddCommand(newBackupSchedule(f, m))
	if m == perform {
		cmd.AddCommand(newBackupList(f), newBackupDescribe(f), newBackupVerify(f), newBackupDelete(f))
	}
	return cmd
}

// turnEvery is the pause between two tries of a command that waits its turn.
const turnEvery = 5 * time.Second

// inTurn repeats what is refused because somebody else acts on the cluster.
func inTurn(ctx context.Context, f *Factory, patience time.Duration, work func() error) error {
	deadline, said := time.Now().Add(patience), ""
	for {
		err := work()
		if ops.KindOf(err) != ops.Busy || !time.Now().Before(deadline) {
			return err
		}
		if said != err.Error() {
			said = err.Error()
			f.note("waiting: %s", said)
		}
		timer := time.NewTimer(min(turnEvery, time.Until(deadline)))
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
func nameBackup(in *intent, op *v1alpha1.Operation) {
	in.subject = "backup/" + op.Spec.Backup
	in.next = displayName + " backup describe " + op.Spec.Backup + " --repository " + op.Spec.Repository
}
