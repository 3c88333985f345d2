package backup

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// addTarget adds the flags that say where a restore ends in the archived log.
func addTarget(cmd *cobra.Command, t *v1alpha1.RecoveryTarget) {
	cmd.Flags().StringVar(&t.Time, "to-time", "",
		"For engines that archive a log: moment to restore to, with its zone, such as 2026-11-23T20:15:00Z; or latest.")
	cmd.Flags().StringVar(&t.LSN, "to-lsn", "",
		"For PostgreSQL: place in the log to which it brings the backup, such as 0/3000060.")
	cmd.Flags().StringVar(&t.Name, "to-name", "",
		"For PostgreSQL: restore point of pg_create_restore_point() to which the archived log brings the backup.")
	cmd.Flags().StringVar(&t.Transaction, "to-transaction", "",
		"For PostgreSQL: number of the transaction that is the last one taken from the archived log.")
	cmd.Flags().BoolVar(&t.Exclusive, "exclusive", false, "Stop right before the time, place or transaction.")
}

// checkTarget refuses flags that don't go together.
func (f *restoreFlags) checkTarget() error {
	var set []string
	for _, flag := range [][2]string{{"--to-time", f.target.Time}, {"--to-lsn", f.target.LSN},
		{"--to-name", f.target.Name}, {"--to-transaction", f.target.Transaction}} {
		if flag[1] != "" {
			set = append(set, flag[0])
		}
	}
	at, err := time.Parse(time.RFC3339Nano, f.target.Time)
	switch {
	case len(set) > 1:
		return exit.Misuse("%s and %s exclude each other", set[0], set[1])
	case len(set) == 1 && f.file != "":
		return exit.Misuse("--from-file and %s exclude each other: no log is archived beside a file", set[0])
	case f.target.Exclusive && (len(set) == 0 || f.target.Name != "" || f.target.Time == v1alpha1.TargetLatest):
		return exit.Misuse("--exclusive needs --to-time with a moment, --to-lsn or --to-transaction")
	case f.target.Time == "" || f.target.Time == v1alpha1.TargetLatest:
		return nil
	case err != nil:
		return exit.Misuse("--to-time %q is no moment with its zone, such as 2026-11-23T20:15:00Z, and not latest",
			f.target.Time)
	}
	f.target.Time = at.UTC().Format(time.RFC3339Nano)
	return nil
}

// lost says what a restore in place takes from a cluster.
func (f *restoreFlags) lost(factory *command.Factory, m repository.Manifest) string {
	since := m.FinishedAt
	switch at, err := time.Parse(time.RFC3339Nano, f.target.Time); {
	case f.target.Time == v1alpha1.TargetLatest:
		return "what was written since the last archived file of the log"
	case err == nil:
		since = at
	case f.target.Exclusive:
		t := f.target
		t.Exclusive = false
		return "everything written from " + t.String() + " on"
	case f.target.Set():
		return "everything written after " + f.target.String()
	}
	return fmt.Sprintf("everything written since %s (%s ago)", since.UTC().Format("2006-01-02 15:04:05Z"),
		factory.Age(since))
}
