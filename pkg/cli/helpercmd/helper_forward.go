package helpercmd

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// logFlags name an archived log.
type logFlags struct{ repository, namespace, cluster, incarnation string }

func (l *logFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.repository, "log-repository", "",
		"Directory where the description and keys of the repository with the log are mounted.")
	cmd.Flags().StringVar(&l.namespace, "log-namespace", "", "Namespace of the cluster that wrote the log.")
	cmd.Flags().StringVar(&l.cluster, "log-cluster", "", "Cluster that wrote the log.")
	cmd.Flags().StringVar(&l.incarnation, "log-incarnation", "", "Token of that cluster's incarnation.")
}

func (l *logFlags) args() []string {
	return []string{"--log-repository", l.repository, "--log-namespace", l.namespace, "--log-cluster", l.cluster,
		"--log-incarnation", l.incarnation}
}

// forwardFlags say how far a backup is brought.
type forwardFlags struct {
	logFlags

	target   v1alpha1.RecoveryTarget
	programs string
}

func (o *forwardFlags) addTo(cmd *cobra.Command) {
	o.logFlags.addTo(cmd)
	cmd.Flags().StringVar(&o.target.Time, "to-time", "",
		"Moment to which the log brings the data, in RFC 3339, or latest.")
	cmd.Flags().StringVar(&o.target.LSN, "to-lsn", "", "Place in the log to which it brings the data.")
	cmd.Flags().StringVar(&o.target.Name, "to-name", "", "Restore point to which the log brings the data.")
	cmd.Flags().StringVar(&o.target.Transaction, "to-transaction", "", "Transaction to which the log brings the data.")
	cmd.Flags().BoolVar(&o.target.Exclusive, "exclusive", false, "Stop right before the target.")
	cmd.Flags().StringVar(&o.target.Timeline, "timeline", "", "With a target, the history to follow.")
	cmd.Flags().StringVar(&o.programs, "programs", "",
		"Directory with the programs of the data's version, by which it is converted.")
}

func (o *forwardFlags) run(ctx context.Context, e engine.Engine, directory string) (err error) {
	a, ok := e.(engine.LogArchiver)
	if !ok {
		return exit.Misuse("a log of %s is not archived", e.Name())
	}
	to := engine.ForwardTo{Target: o.target, Programs: o.programs}
	if err := o.open(func(log *archive.Log) (err error) {
		to.Log, err = bucket.LogFiles(ctx, log)
		return err
	}); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if to.Scratch, err = os.MkdirTemp("", "forward"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to.Scratch)) }()
	to.Command = append([]string{self, "helper", "log", "--engine", e.Name(), "--name", engine.LogNameToken,
		"--to", engine.LogPathToken}, o.args()...)
	return a.Forward(ctx, directory, to)
}
