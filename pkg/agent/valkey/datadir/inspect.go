package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Where the append-only files of a copy are.
const (
	Database        = "db"
	AppendDirectory = "appendonlydir"
	AppendFile      = "appendonly.aof"
)

// Manifest names the append-only files of a copy. A copy without one holds no data.
func Manifest(data string) string {
	return filepath.Join(data, Database, AppendDirectory, AppendFile+".manifest")
}

// Found is what the copy of a member that does not run says of itself.
type Found struct {
	Identity
	// At is where it ends. Without a stop in order it reaches at least that far.
	At protocol.Position
	// Bytes is the size of the files.
	Bytes int64
}

// Inspect reads the copy in a directory. It changes nothing.
func Inspect(data string) (out Found, err error) {
	if out.Identity, err = ReadIdentity(data); err != nil {
		return out, err
	}
	if out.Volume == "" {
		return out, errors.New("it holds no copy of the data")
	}
	if _, err := os.Stat(Manifest(data)); err != nil {
		return out, errors.New("the append-only files of the server are gone")
	}
	out.At = protocol.Position{Timeline: out.Lineage.At(out.Seen), Offset: out.Seen}
	if out.End != nil {
		out.At = *out.End
	}
	err = filepath.WalkDir(data, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out.Bytes += info.Size()
		}
		return err
	})
	return out, err
}
