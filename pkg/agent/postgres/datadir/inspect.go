package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Found is what the copy of a member that does not run says of itself.
type Found struct {
	// System identifies the database, Major is the version of its data.
	System, Major string
	// Lineage are the timelines that the copy followed, End is where its last whole record ends.
	Lineage Lineage
	End     LSN
	// InOrder says that it was a primary that was stopped in order.
	InOrder bool
	// Bytes is the size of the data, the log included.
	Bytes int64
}

// Inspect reads the copy in a directory, that of pgdata and of the file of its identity. It changes nothing.
func Inspect(data string) (Found, error) {
	id, err := ReadIdentity(data)
	switch {
	case err != nil:
		return Found{}, err
	case id.Volume == "":
		return Found{}, errors.New("it holds no copy of the data")
	case id.Rewinding:
		return Found{}, errors.New("it was being rewound, so it is neither the old nor the new data")
	}
	pgdata := filepath.Join(data, "pgdata")
	c, err := ReadControl(pgdata)
	if err != nil {
		return Found{}, err
	}
	out := Found{System: c.System, Lineage: id.Lineage, InOrder: c.Shutdown}
	major, err := os.ReadFile(filepath.Join(pgdata, "PG_VERSION")) //nolint:gosec // the path is ours
	if err != nil {
		return out, fmt.Errorf("read the version of the data: %w", err)
	}
	out.Major = strings.TrimSpace(string(major))
	if out.End, err = LogEnd(pgdata, c, id.Lineage); err != nil {
		return out, err
	}
	err = filepath.WalkDir(pgdata, func(_ string, e fs.DirEntry, err error) error {
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
