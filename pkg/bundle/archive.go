package bundle

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// partSuffix is of an archive that is not finished.
const partSuffix = ".part"

// Archive gathers masked files and writes them as one. It is not safe for
// concurrent use.
type Archive struct {
	masker *Masker
	files  map[string]string
	// missing says, a line each, what could not be had and why.
	missing []string
}

// New makes an empty archive.
func New(m *Masker) *Archive { return &Archive{masker: m, files: map[string]string{}} }

// Add puts a file into it; its text is masked here, whatever was done before.
func (a *Archive) Add(name, text string) { a.files[name] = a.masker.Text(text) }

// Missing notes what could not be had.
func (a *Archive) Missing(what string, err error) {
	a.missing = append(a.missing, a.masker.Text(fmt.Sprintf("%s: %v", what, err)))
}

// Absent is how many things could not be had.
func (a *Archive) Absent() int { return len(a.missing) }

// ErrExists: a file of that name is there and stays.
var ErrExists = errors.New("the file exists already and is not overwritten")

// Write writes a gzipped tar under a temporary name, and gives it its name
// only when it is whole and nothing bears that name.
func (a *Archive) Write(path string, now time.Time) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = ErrExists
		}
		return fmt.Errorf("write %s: %w", path, err)
	}
	part := path + partSuffix
	err := a.write(part, now)
	if err == nil {
		// A link, unlike a rename, never takes the place of another file.
		if err = os.Link(part, path); errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
	}
	if removed := os.Remove(part); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func (a *Archive) write(part string, now time.Time) (err error) {
	// What a run that was killed left is nobody's.
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(filepath.Clean(part), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	packed := gzip.NewWriter(f)
	out := tar.NewWriter(packed)
	files := a.files
	if len(a.missing) > 0 {
		files["missing.txt"] = strings.Join(a.missing, "\n") + "\n"
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := files[name]
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: now,
			Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := out.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := errors.Join(out.Close(), packed.Close()); err != nil {
		return err
	}
	return f.Sync()
}
