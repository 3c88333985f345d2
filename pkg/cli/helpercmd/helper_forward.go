package helpercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func (o *forwardFlags) run(ctx context.Context, e engine.Engine, directory string, output io.Writer) (err error) {
	a, ok := e.(engine.LogArchiver)
	if !ok {
		return exit.Misuse("a log of %s is not archived", e.Name())
	}
	to := engine.ForwardTo{Target: o.target, Programs: o.programs, Output: output}
	if to.Scratch, err = os.MkdirTemp("", "forward"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to.Scratch)) }()
	return o.open(func(log *archive.Log) error {
		all, err := log.Segments(ctx)
		if err != nil {
			return err
		}
		files := log.Reader(all)
		to.Log = bucket.LogFiles(all)
		to.Read = func(ctx context.Context, name string) ([]byte, error) {
			body, err := files.Read(ctx, a.LogTimeline(name), name)
			if errors.Is(err, archive.ErrNotFound) {
				err = fmt.Errorf("%w: %w", engine.ErrNoLogFile, err)
			}
			return body, err
		}
		return a.Forward(ctx, directory, to)
	})
}

// open lets read use the log.
func (l *logFlags) open(read func(*archive.Log) error) (err error) {
	d, secrets, err := bucket.ReadDirectory(l.repository)
	if err != nil {
		return err
	}
	repo, err := bucket.Open(d, secrets, "", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return read(repo.Log(l.namespace, l.cluster, l.incarnation))
}
