//go:build linux

package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The server keeps a file of its log until archive_command succeeds. That is no program that copies: it waits until the
// agent was told that the archive has the file, which is a mark in a directory beside the sockets.

// marksOf is the directory of the marks beside sockets. They don't outlive a run of the server.
func marksOf(sockets string) string { return filepath.Join(sockets, "archived") }

func (f *Files) marks() string { return marksOf(f.Sockets) }

// ending is the mark of a server that is asked to stop: it doesn't wait for its archive.
const ending = "ending"

// Command is the archive_command of a server with such a directory of sockets. It waits half a minute for a mark. The
// server tries again as long as it fails; an end above 125 ends the archiver, which a server that stops would wait for
// otherwise.
func Command(sockets string) string {
	return fmt.Sprintf("cd '%s' && until test -e %%f; do test -e %s && exit 126; n=$((n+1)); "+
		"test $n -gt 60 && exit 1; sleep 0.5; done", marksOf(sockets), ending)
}

// Reset forgets all marks.
func (f *Files) Reset() error {
	err := os.RemoveAll(f.marks())
	if err == nil {
		err = os.Mkdir(f.marks(), 0o700)
	}
	if err != nil {
		return fmt.Errorf("prepare what waits for the archive: %w", err)
	}
	return nil
}

// StopArchiver has the archiver not wait any more.
func (f *Files) StopArchiver() error { return f.mark(ending) }

func (f *Files) mark(name string) error {
	if err := os.WriteFile(filepath.Join(f.marks(), name), nil, 0o600); err != nil {
		return fmt.Errorf("note what the archive has: %w", err)
	}
	return nil
}

// forget removes marks that the server has read.
func (f *Files) forget(ready []string) error {
	marks, err := os.ReadDir(f.marks())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what the archive has: %w", err)
	}
	for _, m := range marks {
		if _, waits := slices.BinarySearch(ready, m.Name()); waits || m.Name() == ending {
			continue
		}
		if err := os.Remove(filepath.Join(f.marks(), m.Name())); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("forget what the archive has: %w", err)
		}
	}
	return nil
}
