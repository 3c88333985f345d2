package basebackup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

const readSize = 1 << 20

// Open reads a base backup. Of one that passed through a Check before only headers, the manifest and some small files
// are read.
func Open(path string, checked bool) (f Facts, err error) {
	file, err := os.Open(path) //nolint:gosec // the caller names it
	if err != nil {
		return Facts{}, fmt.Errorf("open a base backup: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if checked {
		return skim(file)
	}
	c := NewCheck()
	if _, err := io.CopyBuffer(onlyWriter{c}, file, make([]byte, readSize)); err != nil {
		return Facts{}, fmt.Errorf("read a base backup: %w", err)
	}
	return c.Facts()
}

// onlyWriter has the buffer used that is given.
type onlyWriter struct{ io.Writer }

// skim passes over the data of all files but those that tell of the whole.
func skim(file io.ReadSeeker) (Facts, error) {
	c := newContents()
	var header [blockSize]byte
	for {
		if _, err := io.ReadFull(file, header[:]); err != nil {
			return Facts{}, bad("the archive ends too early: %v", err)
		}
		if header == [blockSize]byte{} {
			break
		}
		e, err := parseHeader(&header)
		if err != nil {
			return Facts{}, err
		}
		over := e.size + e.padding()
		if e.name == manifestName {
			c.manifest = newManifest(func(listed) error { return nil })
			if _, err := io.Copy(c.manifest, io.LimitReader(bufio.NewReaderSize(file, readSize), e.size)); err != nil {
				return Facts{}, err
			}
			break
		}
		if err := c.begin(e); err != nil {
			return Facts{}, err
		}
		if e.kind == kindFile && keeps(e.name) {
			if _, err := io.CopyN(c.kept[e.name], file, e.size); err != nil {
				return Facts{}, bad("%q ends too early: %v", e.name, err)
			}
			over -= e.size
		}
		if _, err := file.Seek(over, io.SeekCurrent); err != nil {
			return Facts{}, fmt.Errorf("read a base backup: %w", err)
		}
	}
	return c.complete()
}
