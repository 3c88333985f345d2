package postgres

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

var _ engine.LogArchiver = (*Engine)(nil)

// archiveTimeout is the setting that says how often a file of the log is complete.
const archiveTimeout = "archive_timeout"

// ArchiveRepository implements engine.LogArchiver.
func (*Engine) ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string {
	return spec.Config[agreed.ArchiveRepository]
}

// ArchiveInterval implements engine.LogArchiver.
func (*Engine) ArchiveInterval(spec v1alpha1.DatabaseClusterSpec) string {
	return agreed.ArchiveInterval(spec.Config, archiveTimeout)
}

// settings reads the options of a spec. With an archive every member keeps its log until that has it: then a failover
// leaves no gap.
func settings(config map[string]string) (protocol.Settings, error) {
	rest, archives, err := agreed.WithoutArchive(config)
	if err != nil {
		return protocol.Settings{}, err
	}
	if archives {
		rest["archive_mode"] = "always"
		if rest[archiveTimeout] == "" {
			rest[archiveTimeout] = agreed.ArchiveTimeout
		}
	}
	return agreed.Settings(rest)
}

// LogTimeline implements engine.LogArchiver.
func (*Engine) LogTimeline(name string) string {
	if p, ok := parseLogName(name); ok {
		return strconv.FormatUint(p.timeline, 10)
	}
	return historyTimeline
}

// Forward implements engine.LogArchiver, in an image of the community.
func (*Engine) Forward(ctx context.Context, directory string, to engine.ForwardTo) error {
	own, err := programs(directory, to.Programs)
	if err != nil {
		return err
	}
	libraries := ""
	if to.Programs != "" {
		libraries = filepath.Join(to.Scratch, "libraries")
		if err := own.Missing("/", libraries); err != nil {
			return err
		}
	}
	files, err := startSupply(ctx, directory, to)
	if err != nil {
		return err
	}
	err = Forward{Directory: directory, Bin: own.Path(), Libraries: libraries, Sockets: to.Scratch,
		RestoreCommand: files.command(), Target: to.Target, Log: to.Output}.Run(ctx)
	stopped := files.stop()
	if err != nil && files.failed != nil { // which is why, and the last message of a pod is short
		return fmt.Errorf("bring the data forward by the log (to %q): %w", to.Target, files.failed)
	}
	return errors.Join(err, stopped)
}
