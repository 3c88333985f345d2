package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var errStopped = errors.New("the process is gone")

// stopping lets so many calls through, logs them, and then lets none.
type stopping struct {
	left int
	log  []string
	osFiles
}

func (s *stopping) step(format string, args ...any) error {
	if s.left == 0 {
		return errStopped
	}
	s.left--
	s.log = append(s.log, strings.ReplaceAll(fmt.Sprintf(format, args...), testID, "ID"))
	return nil
}

func (s *stopping) create(path string) (stream, error) {
	if err := s.step("create %s", filepath.Base(path)); err != nil {
		return nil, err
	}
	f, err := s.osFiles.create(path)
	return &stoppingStream{f, filepath.Base(path), s}, err
}

func (s *stopping) rename(from, to string) error {
	if err := s.step("rename %s", filepath.Base(to)); err != nil {
		return err
	}
	return s.osFiles.rename(from, to)
}

func (s *stopping) remove(path string) error {
	if err := s.step("remove %s", filepath.Base(path)); err != nil {
		return err
	}
	return s.osFiles.remove(path)
}

func (s *stopping) syncDir(dir string) error {
	if err := s.step("sync directory"); err != nil {
		return err
	}
	return s.osFiles.syncDir(dir)
}

type stoppingStream struct {
	stream
	name  string
	files *stopping
}

// Write writes half before it is stopped.
func (s *stoppingStream) Write(p []byte) (int, error) {
	if err := s.files.step("write %s", s.name); err != nil {
		n, _ := s.stream.Write(p[:len(p)/2])
		return n, err
	}
	return s.stream.Write(p)
}

func (s *stoppingStream) Sync() error {
	if err := s.files.step("sync %s", s.name); err != nil {
		return err
	}
	return s.stream.Sync()
}

func testDirectory(t *testing.T) *Directory {
	t.Helper()
	d, err := NewDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func noFacts(string) (engine.SnapshotFacts, error) { return engine.SnapshotFacts{}, nil }

func store(d *Directory, operation, data string) error {
	w, err := d.Writer(context.Background(), testID, operation)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, data); err != nil {
		return errors.Join(err, w.Abort())
	}
	_, err = w.Commit(context.Background(), Manifest{Cluster: "db"}, noFacts)
	return err
}

func testPut(t *testing.T, d *Directory, operation, data string) {
	t.Helper()
	if err := store(d, operation, data); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, d *Directory) (string, error) {
	t.Helper()
	r, _, err := d.Reader(t.Context(), testID)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	return string(b), err
}

// The order is what makes a power cut harmless: data is durable before it has
// its name, the name before the manifest, and the old manifest is gone first.
func TestOrderOfACommit(t *testing.T) {
	d := testDirectory(t)
	s := &stopping{left: -1}
	d.files = s
	testPut(t, d, "op", "data")
	want := []string{
		"sync directory", "create ID.snapshot.part", "write ID.snapshot.part", "sync ID.snapshot.part",
		"remove ID.json", "sync directory", "rename ID.snapshot", "sync directory",
		"create ID.json.part", "write ID.json.part", "sync ID.json.part", "rename ID.json", "sync directory",
	}
	if d := cmp.Diff(want, s.log); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s.log = nil
	if err := d.Delete(t.Context(), testID); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"remove ID.json", "sync directory"}, s.log[:2]); d != "" {
		t.Errorf("Delete (-want +got):\n%s", d)
	}
}

// Stopped at any call, a repository shows the old backup, the new one or none,
// never a damaged one; and the same operation then succeeds.
func TestStoppedAtEveryCall(t *testing.T) {
	actions := map[string]func(*Directory) error{
		"write":     func(d *Directory) error { return store(d, "op", "new") },
		"overwrite": func(d *Directory) error { return store(d, "op", "new") },
		"verify": func(d *Directory) error {
			return d.AddProof(context.Background(), testID, Proof{Level: LevelRestorable,
				Verification: Verification{Version: "1"}})
		},
		"delete": func(d *Directory) error { return d.Delete(context.Background(), testID) },
	}
	for name, act := range actions {
		t.Run(name, func(t *testing.T) {
			stop := 0
			for ; ; stop++ {
				d := testDirectory(t)
				if name != "write" {
					testPut(t, d, "op", "old")
				}
				d.files = &stopping{left: stop}
				err := act(d)
				d.files = osFiles{}
				got, readErr := content(t, d)
				if readErr != nil && !errors.Is(readErr, ErrNotFound) || readErr == nil && got != "old" && got != "new" {
					t.Fatalf("stopped at call %d: %q, %v", stop, got, readErr)
				}
				if list, err := d.List(t.Context(), ""); err != nil || (len(list) == 1) != (readErr == nil) {
					t.Errorf("stopped at call %d: listed %v, %v", stop, list, err)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, errStopped) {
					t.Fatalf("stopped at call %d: %v", stop, err)
				}
				repeat(t, d, act, name, stop)
			}
			if stop < 5 {
				t.Errorf("only %d calls", stop)
			}
		})
	}
}

func repeat(t *testing.T, d *Directory, act func(*Directory) error, name string, stop int) {
	t.Helper()
	err := act(d)
	if err != nil && (name != "delete" || !errors.Is(err, ErrNotFound)) {
		t.Fatalf("stopped at call %d, the repeat: %v", stop, err)
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) || name == "delete" {
			t.Errorf("stopped at call %d, the repeat left %s", stop, e.Name())
		}
	}
}

func TestOSFilesRemoveNothing(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent")
	if err := (osFiles{}).remove(absent); err != nil {
		t.Error(err)
	}
	if err := (osFiles{}).rename(absent, absent+"-too"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
