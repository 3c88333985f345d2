package helpercmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// archiveEvery is how long a file may wait before it is noticed.
const archiveEvery = 2 * time.Second

func newHelperArchive(f *command.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "archive",
		Short: "Archive the log of a cluster in an object store",
		Long: "Archive the log of a cluster in an object store, until it is ended. Which cluster is in the environment, " +
			"and keys are in files that are mounted: no right to the API is needed.",
		Example: `  # Archive the log of the cluster in the environment
  kubectl dbop helper archive`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var c *v1alpha1.DatabaseCluster
			if err := json.Unmarshal([]byte(f.Getenv(helper.EnvArchive)), &c); err != nil || c == nil ||
				c.Status.Bootstrap == nil {
				return exit.Misuse("%s holds no cluster", helper.EnvArchive)
			}
			report := func(err error) { _, _ = fmt.Fprintln(f.Streams.Err, err) }
			signer := ""
			signs := func(id string) {
				if signer != id {
					_, _ = fmt.Fprintln(f.Streams.Err, "what is archived is signed with", id)
				}
				signer = id
			}
			for cmd.Context().Err() == nil {
				err := archiveLog(cmd.Context(), f, c, signs, report)
				if errors.Is(err, archive.ErrOwner) || errors.Is(err, archive.ErrConflict) {
					return err // a person must decide, and the end of the pod shows it in the status
				}
				if err != nil {
					report(err)
					wait(cmd.Context(), archiveEvery)
				}
			}
			return nil
		},
	}
}

// wait ends early with the context.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// archiveLog archives with the keys and certificates that are mounted now, as long as that succeeds. signs hears the ID
// of the key that signs: the one before it may be distrusted once nobody else signs with it.
func archiveLog(ctx context.Context, f *command.Factory, c *v1alpha1.DatabaseCluster, signs func(id string),
	report func(error)) (err error) {
	d, secrets, err := bucket.ReadDirectory(helper.MountedRepository)
	if err != nil {
		return err
	}
	repo, err := bucket.Open(d, secrets, c.Namespace, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	e, err := f.EngineNamed(c.Spec.Engine)
	if err != nil {
		return err
	}
	access, err := mountedAccess(c)
	if err != nil {
		return err
	}
	session, err := e.Connect(access)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	source, ok := session.(engine.LogSource)
	if !ok {
		return exit.Misuse("a log of %s is not archived", e.Name())
	}
	log := repo.Log(c.Namespace, c.Name, c.Status.Bootstrap.Token)
	owner, err := helper.Fingerprints(helper.MountedAuthority)
	if err != nil {
		return err
	}
	if err := log.Claim(ctx, owner); err != nil {
		return err
	}
	signer, err := archive.SignerID(string(secrets[bucket.FileSigningKey]))
	if err != nil {
		return err
	}
	signs(signer)
	// Another key signs what follows, so that the one in use can be distrusted soon.
	ctx, stop := whileKey(ctx, filepath.Join(helper.MountedRepository, bucket.FileSigningKey),
		secrets[bucket.FileSigningKey])
	defer stop()
	collector := helper.Collector{Source: source, Log: log, Every: archiveEvery, Report: report}
	return collector.Run(ctx)
}
