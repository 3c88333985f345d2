package valkey

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey/rdb"
)

var _ engine.LogArchiver = (*Engine)(nil)

// archiveTimeout is the setting that has the agents keep a log, and how often a file of it is complete.
const archiveTimeout = "archive-timeout"

// ArchiveRepository implements engine.LogArchiver.
func (*Engine) ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string {
	return spec.Config[agreed.ArchiveRepository]
}

// ArchiveInterval implements engine.LogArchiver.
func (*Engine) ArchiveInterval(spec v1alpha1.DatabaseClusterSpec) string {
	return agreed.ArchiveInterval(spec.Config, archiveTimeout)
}

// settings reads the options of a spec. With an archive the agents keep a log.
func settings(config map[string]string) (protocol.Settings, error) {
	rest, archives, err := agreed.WithoutArchive(config)
	switch {
	case err != nil:
		return protocol.Settings{}, err
	case archives && rest[archiveTimeout] == "":
		rest[archiveTimeout] = agreed.ArchiveTimeout
	case !archives && rest[archiveTimeout] != "":
		return protocol.Settings{}, &engine.Refusal{Check: "settings",
			Reason: "the option " + archiveTimeout + " is for a log that is archived",
			Hint:   "set " + agreed.ArchiveRepository + " too"}
	}
	return agreed.Settings(rest)
}

// CheckTarget implements engine.LogArchiver. The log has marks of the time and no others.
func (e *Engine) CheckTarget(_ engine.LogWindow, t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error) {
	if t.Time == "" || t.Exclusive {
		return t, &engine.Refusal{Check: "target", Reason: fmt.Sprintf("the log of %s leads to moments alone, not to %s",
			e.Name(), t), Hint: "choose one with --to-time, without --exclusive"}
	}
	return t, nil
}

// LogTimeline implements engine.LogArchiver.
func (*Engine) LogTimeline(name string) string {
	if n, ok := logfile.ParseName(name); ok {
		return n.History
	}
	return logfile.Forks
}

// logStart is where the log goes on from a backup, by the end of what is before.
func logStart(f rdb.Facts) *engine.LogStart {
	if f.Stream == nil {
		return nil
	}
	n := logfile.Name{History: logfile.History(f.Stream.ID), End: f.Stream.Offset}
	return &engine.LogStart{Timeline: n.History, File: n.String()}
}
