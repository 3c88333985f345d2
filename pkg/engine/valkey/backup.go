package valkey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey/rdb"
)

var _ engine.Unpacker = (*Engine)(nil)

// OpenSnapshot implements engine.Snapshotter. The checksum is read every time: it is all that proves a file.
func (e *Engine) OpenSnapshot(path string, _ bool) (engine.SnapshotFacts, error) {
	f, err := read(path)
	if err == nil && f.Product != "" && f.Product != e.Name() {
		err = fmt.Errorf("it is of %s, not of %s: %w", f.Product, e.Name(), engine.ErrNotSnapshot)
	}
	if err != nil {
		return engine.SnapshotFacts{}, fmt.Errorf("open %s: %w", path, err)
	}
	out := engine.SnapshotFacts{Auth: true, Schema: f.Server}
	out.Proof = engine.Proof(proof(f))
	out.LogStart = logStart(f)
	for _, r := range readings(f) {
		out.Readings = append(out.Readings, engine.Reading{Name: r.Name, Value: r.Value})
	}
	return out, nil
}

func read(path string) (f rdb.Facts, err error) {
	file, err := os.Open(path) //nolint:gosec // the caller chose it
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return rdb.Read(file)
}

// proof is that of the bytes: the same data is written in another order every time.
func proof(f rdb.Facts) string { return fmt.Sprintf("rdb:%016x:%d", f.Sum, f.Bytes) }

// readings are the same of a backup and of the data that was made of it.
func readings(f rdb.Facts) []api.Reading {
	return []api.Reading{{Name: "server", Value: f.Server}, {Name: "format", Value: strconv.Itoa(f.Version)},
		{Name: "made", Value: f.Made.Format(time.RFC3339)}}
}

// CheckStream implements engine.Snapshotter.
func (*Engine) CheckStream() io.WriteCloser { return rdb.NewCheck() }

// LoadCommand implements engine.Snapshotter.
func (e *Engine) LoadCommand(in engine.LoadInput) []string { return engine.UnpackCommand(e.Name(), in) }

// Where the agent has the server keep its append-only files. A server that has none starts empty, whatever dump.rdb
// there is, and the next save replaces that. So the backup becomes the first of the append-only files.
const (
	appendOnly = "db/appendonlydir"
	baseFile   = "appendonly.aof.1.base.rdb"
	manifest   = "appendonly.aof.manifest"
)

// ReadsOnce implements engine.Unpacker.
func (*Engine) ReadsOnce(engine.SnapshotFacts) bool { return true }

// Unpack implements engine.Unpacker: the data is where the agent has it, and the record of it comes last.
func (*Engine) Unpack(_ context.Context, file, directory string) error {
	if err := os.Mkdir(directory, 0o700); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	to := filepath.Join(directory, appendOnly)
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	f, err := copyFile(file, filepath.Join(to, baseFile))
	if err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	list := "file " + baseFile + " seq 1 type b\n"
	if err := disk.ReplaceBytes(filepath.Join(to, manifest), []byte(list)); err != nil {
		return fmt.Errorf("unpack %s: %w", file, err)
	}
	return loaded.Write(directory, loaded.Record{
		Contents: api.Contents{Proof: proof(f), Readings: readings(f)}, End: protocol.Position{Timeline: 1},
	})
}

// copyFile copies a file that is whole, and flushes the copy.
func copyFile(file, to string) (f rdb.Facts, err error) {
	from, err := os.Open(file) //nolint:gosec // the caller chose it
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the path is ours
	if err != nil {
		return f, err
	}
	if f, err = rdb.Read(io.TeeReader(from, out)); err == nil {
		err = out.Sync()
	}
	return f, errors.Join(err, out.Close())
}
