package helper

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const fetched = "my-db-20261123T101500Z-0a1b"

// holding is a repository with one backup.
func holding(t *testing.T, data []byte) (repo *repository.Directory, file string) {
	t.Helper()
	root := t.TempDir()
	repo, err := repository.NewDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	w, err := repo.Writer(t.Context(), fetched, "op")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), repository.Manifest{Engine: "fake"}, func(string) (engine.SnapshotFacts, error) {
		return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Proof: "7 keys, f"}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	return repo, filepath.Join(root, fetched+".snapshot")
}

func TestFetch(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	repo, _ := holding(t, data)
	o := options(t, "copy")
	hash := engine.DataHash{Fingerprint: engine.Fingerprint{Proof: "7 keys, h"}, Mark: "m"}
	o.DataHash = func(string, []string) (engine.DataHash, error) { return hash, nil }
	report := filepath.Join(t.TempDir(), "report")
	// The second time nothing is left to do: nobody read the data.
	for _, want := range []Loaded{{DataHash: hash, Backup: fetched, Recorded: "7 keys, f"},
		{Backup: fetched, Recorded: "7 keys, f"}} {
		if err := o.Fetch(t.Context(), repo, fetched, report); err != nil {
			t.Fatal(err)
		}
		message, err := os.ReadFile(report)
		if err != nil || !reflect.DeepEqual(ReadLoaded(string(message)), want) {
			t.Errorf("reported %s, %v", message, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	if ReadLoaded("").Proof != "" || ReadLoaded("no JSON").Proof != "" {
		t.Error("a message that says nothing proves something")
	}
}

// TestFetchServed reads a backup out of a server that starts later, and describes nothing that it can't.
func TestFetchServed(t *testing.T) {
	data := bytes.Repeat([]byte("snapshot"), 1<<18)
	repo, _ := holding(t, data)
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o, report := options(t, "copy"), filepath.Join(t.TempDir(), "report")
	loaded := make(chan error, 1)
	go func() { loaded <- o.FetchServed(t.Context(), l.Addr().String(), fetched, report) }()
	go func() {
		ended <- Serve(ctx, l, repo.URL()[len("dir:"):], func(string, string) (engine.SnapshotFacts, error) {
			return engine.SnapshotFacts{}, errors.New("nothing is written")
		})
	}()
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(o.Into, "db")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("loaded %d bytes, %v", len(got), err)
	}
	message, err := os.ReadFile(report)
	want := Loaded{Backup: fetched, Recorded: "7 keys, f"}
	if err != nil || !reflect.DeepEqual(ReadLoaded(string(message)), want) {
		t.Errorf("reported %s, %v", message, err)
	}
}

// TestFetchGivesUp: damage is found before anything takes its place, and is not tried again.
func TestFetchGivesUp(t *testing.T) {
	data := []byte("snapshot")
	for name, damage := range map[string]func(file string) error{
		"a flipped byte": func(f string) error { return os.WriteFile(f, []byte("snapshit"), 0o600) },
		"cut short":      func(f string) error { return os.WriteFile(f, data[:4], 0o600) },
		"gone":           os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			repo, file := holding(t, data)
			if err := damage(file); err != nil {
				t.Fatal(err)
			}
			o := options(t, "copy")
			if err := o.Fetch(t.Context(), repo, fetched, ""); !errors.Is(err, repository.ErrDamaged) {
				t.Errorf("%v", err)
			}
			if left := volume(t, o); len(left) > 0 {
				t.Errorf("it left %q", left)
			}
		})
	}
	repo, _ := holding(t, data)
	if err := options(t, "copy").Fetch(t.Context(), repo, "my-db-20261123T101500Z-ffff", ""); !errors.Is(err,
		repository.ErrNotFound) {
		t.Errorf("no such backup: %v", err)
	}
}
