package postgres

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

var _ engine.Unpacker = (*Engine)(nil)

// OpenSnapshot implements engine.Snapshotter.
func (*Engine) OpenSnapshot(path string, checked bool) (engine.SnapshotFacts, error) {
	found, err := basebackup.Open(path, checked)
	if err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("open %s: %w", path, err)
	}
	out := engine.SnapshotFacts{Schema: found.Major, Auth: true, Incremental: found.Incremental(),
		LogStart: &engine.LogStart{Timeline: strconv.FormatUint(found.First, 10), File: found.LogFile}}
	out.Proof = engine.Proof(found.Proof())
	for _, r := range readings(found) {
		out.Readings = append(out.Readings, engine.Reading{Name: r.Name, Value: r.Value})
	}
	return out, nil
}

// endReading is the place in the log where a backup is complete.
const endReading = "end of log"

// readings are the same of a backup and of the data that was made of it.
func readings(f basebackup.Facts) []api.Reading {
	return []api.Reading{{Name: "timeline", Value: strconv.FormatUint(f.Timeline, 10)},
		{Name: endReading, Value: basebackup.FormatLSN(f.End)}, {Name: "database", Value: f.System}}
}

// CheckStream implements engine.Snapshotter.
func (*Engine) CheckStream() io.WriteCloser { return basebackup.NewCheck() }

// LoadCommand implements engine.Snapshotter.
func (*Engine) LoadCommand(in engine.LoadInput) []string { return engine.UnpackCommand(Name, in) }

// ReadsOnce implements engine.Unpacker. Changes are put in their places once all of them are known.
func (*Engine) ReadsOnce(f engine.SnapshotFacts) bool { return !f.Incremental }

// Unpack implements engine.Unpacker: the data is where the agent has it, and the record of it comes last.
func (*Engine) Unpack(_ context.Context, file, directory string) error {
	if err := os.Mkdir(directory, 0o700); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	f, err := basebackup.Unpack(file, filepath.Join(directory, "pgdata"))
	if err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	return loaded.Write(directory, loaded.Record{
		Contents: api.Contents{Proof: f.Proof(), Readings: readings(f)},
		End:      protocol.Position{Timeline: f.Timeline, Offset: f.End},
	})
}
