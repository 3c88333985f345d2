package repository

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCommitComparesWhatWasSent(t *testing.T) {
	for name, test := range map[string]struct {
		m    Manifest
		want error
	}{
		"bytes":     {Manifest{Bytes: 5}, ErrDamaged},
		"hash":      {Manifest{SHA256: emptySum}, ErrDamaged},
		"operation": {Manifest{Operation: "op-2"}, ErrExists},
		"id":        {Manifest{ID: "other"}, nil},
	} {
		d := testDirectory(t)
		w, err := d.Writer(t.Context(), testID, "op")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "data"); err != nil {
			t.Fatal(err)
		}
		_, err = w.Commit(t.Context(), test.m, noFacts)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(d.path); err != nil || len(entries) > 0 {
			t.Errorf("%s: it left %v, %v", name, entries, err)
		}
	}
}

func TestCommitAfterAFailedWrite(t *testing.T) {
	d := testDirectory(t)
	d.files = &fullFiles{}
	w, err := d.Writer(t.Context(), testID, "op")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err = w.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, ErrNoSpace) {
		t.Errorf("Write: %v", err)
	}
	opened := false
	_, err = w.Commit(t.Context(), Manifest{}, func(string) (engine.SnapshotFacts, error) {
		opened = true
		return engine.SnapshotFacts{}, nil
	})
	if !errors.Is(err, ErrNoSpace) || opened {
		t.Errorf("Commit: %v, opened %v", err, opened)
	}
	for _, part := range []string{d.URL(), "bytes free", "delete old backups"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not mention %q: %v", part, err)
		}
	}
	if entries, err := os.ReadDir(d.path); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// A disk that fills up may say so only when the data is to be durable.
func TestFullAtSync(t *testing.T) {
	d := testDirectory(t)
	d.files = &fullFiles{room: 1 << 30}
	if err := store(d, "op", "data"); !errors.Is(err, ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
}

// fullFiles is a disk with little room.
type fullFiles struct {
	osFiles
	room int
}

func (f *fullFiles) create(path string) (stream, error) {
	s, err := f.osFiles.create(path)
	return &fullStream{s, f.room}, err
}

type fullStream struct {
	stream
	room int
}

func (f *fullStream) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, &os.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	return f.stream.Write(p)
}

func (f *fullStream) Sync() error { return &os.PathError{Op: "sync", Err: syscall.ENOSPC} }

// TestDataThatDoesNotLast: the disk fails after all was written and could be
// read. The manifest alone would last, and the backup before it stays.
func TestDataThatDoesNotLast(t *testing.T) {
	d := testDirectory(t)
	testPut(t, d, "op", "good")
	d.files = forgetfulFiles{}
	if err := store(d, "op", "bad"); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v", err)
	}
	if got, err := content(t, d); err != nil || got != "good" {
		t.Errorf("there is %q, %v", got, err)
	}
}

// forgetfulFiles is a disk that loses data, and keeps manifests.
type forgetfulFiles struct{ osFiles }

func (f forgetfulFiles) create(path string) (stream, error) {
	s, err := f.osFiles.create(path)
	if strings.Contains(path, dataSuffix) {
		return forgetfulStream{s}, err
	}
	return s, err
}

type forgetfulStream struct{ stream }

func (forgetfulStream) Sync() error { return &os.PathError{Op: "sync", Err: syscall.EIO} }

// Data without a manifest would take room that nobody sees.
func TestFailedManifestLeavesNoData(t *testing.T) {
	d := testDirectory(t)
	d.files = noManifests{}
	if err := store(d, "op", "data"); !errors.Is(err, ErrNoSpace) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(d.path); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// noManifests is a disk whose last bytes went to the data.
type noManifests struct{ osFiles }

func (f noManifests) create(path string) (stream, error) {
	if strings.Contains(path, manifestSuffix) {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
	}
	return f.osFiles.create(path)
}
