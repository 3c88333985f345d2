package repository_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const id = "db-20261121T101500Z-0a1b"

var began = time.Date(2026, 11, 21, 10, 15, 0, 0, time.UTC)

// both runs a test against a directory, and against the same kind of directory
// behind a server. The test also gets the directory's path.
func both(t *testing.T, test func(t *testing.T, repo repository.Repository, root string)) {
	t.Run("directory", func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "repo")
		repo, err := repository.NewDirectory(root)
		if err != nil {
			t.Fatal(err)
		}
		test(t, repo, root)
	})
	t.Run("remote", func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "repo")
		test(t, repository.NewRemote("pvc:claim", serve(t, root)), root)
	})
}

func serve(t *testing.T, root string) func(context.Context) (net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- helper.Serve(ctx, l, root, func(_, path string) (engine.SnapshotFacts, error) { return open(path) })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", l.Addr().String())
	}
}

func proofOf(data []byte) engine.Fingerprint {
	return engine.Fingerprint{Proof: engine.Proof(fmt.Sprintf("%d bytes", len(data)))}
}

// open is the engine: it reads a snapshot that begins with "bad" as none, and one that begins with "changes" as what
// changed since another.
func open(path string) (engine.SnapshotFacts, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	if bytes.HasPrefix(content, []byte("bad")) {
		return engine.SnapshotFacts{}, fmt.Errorf("%w: it begins badly", engine.ErrNotSnapshot)
	}
	return engine.SnapshotFacts{Fingerprint: proofOf(content), Auth: true,
		Incremental: bytes.HasPrefix(content, []byte("changes"))}, nil
}

func put(t *testing.T, repo repository.Repository, id, operation string, data []byte) (repository.Manifest, error) {
	t.Helper()
	w, err := repo.Writer(t.Context(), id, operation)
	if err != nil {
		return repository.Manifest{}, err
	}
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return repository.Manifest{}, errors.Join(err, w.Abort())
	}
	cluster, _, _ := strings.Cut(id, "-2026")
	return w.Commit(t.Context(), repository.Manifest{
		Engine: "etcd", Cluster: cluster, Version: "3.6.1", StartedAt: began,
	}, open)
}

func mustPut(t *testing.T, repo repository.Repository, id string, data []byte) repository.Manifest {
	t.Helper()
	m, err := put(t, repo, id, "op-1", data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func names(t *testing.T, root string) []string {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		data := noise(3<<20 + 17)
		stored := mustPut(t, repo, id, data)
		sum := sha256.Sum256(data)
		want := repository.Manifest{
			Format: 1, ID: id, Engine: "etcd", Cluster: "db", Version: "3.6.1", StartedAt: began,
			Facts: engine.SnapshotFacts{Fingerprint: proofOf(data), Auth: true},
			File:  id + ".snapshot", Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Operation: "op-1",
		}
		if d := cmp.Diff(want, stored); d != "" {
			t.Errorf("stored manifest (-want +got):\n%s", d)
		}
		r, m, err := repo.Reader(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, m); d != "" {
			t.Errorf("read manifest (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{id + ".json", id + ".snapshot"}, names(t, root)); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
		for name, mode := range map[string]os.FileMode{"": 0o700, id + ".json": 0o600, id + ".snapshot": 0o600} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("mode of %q: %v, %v; want %v", name, info.Mode(), err, mode)
			}
		}
	})
}

func TestNothingShowsBeforeCommit(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		w, err := repo.Writer(t.Context(), id, "op-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(noise(2 << 20)); err != nil {
			t.Fatal(err)
		}
		if list, err := repo.List(t.Context(), ""); len(list) != 0 || err != nil {
			t.Errorf("listed %v, %v", list, err)
		}
		if _, err := repo.Get(t.Context(), id); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("Get: %v", err)
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
		if err := w.Abort(); err != nil {
			t.Errorf("second Abort: %v", err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, repository.ErrFinished) {
			t.Errorf("Write after Abort: %v", err)
		}
		if _, err := w.Commit(t.Context(), repository.Manifest{}, open); !errors.Is(err, repository.ErrFinished) {
			t.Errorf("Commit after Abort: %v", err)
		}
		// The server drops an upload in its own time.
		w, err = repo.Writer(t.Context(), id, "op-1")
		for errors.Is(err, repository.ErrBusy) && t.Context().Err() == nil {
			w, err = repo.Writer(t.Context(), id, "op-1")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
	})
}

func TestOverwrite(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		mustPut(t, repo, id, []byte("first"))
		if _, err := put(t, repo, id, "op-2", []byte("other")); !errors.Is(err, repository.ErrExists) {
			t.Errorf("another operation: %v", err)
		}
		if _, err := put(t, repo, id, "op-1", []byte("bad data")); !errors.Is(err, engine.ErrNotSnapshot) {
			t.Errorf("data that the engine can't read: %v", err)
		}
		if m, err := repo.Get(t.Context(), id); err != nil || m.Bytes != 5 {
			t.Errorf("a failed overwrite left %+v, %v", m, err)
		}
		if m := mustPut(t, repo, id, []byte("second one")); m.Bytes != 10 {
			t.Errorf("overwritten by %+v", m)
		}
		if d := cmp.Diff([]string{id + ".json", id + ".snapshot"}, names(t, root)); d != "" {
			t.Errorf("files (-want +got):\n%s", d)
		}
	})
}

func TestTwoWriters(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, _ string) {
		w, err := repo.Writer(t.Context(), id, "op-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(noise(1 << 20)); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Writer(t.Context(), id, "op-2"); !errors.Is(err, repository.ErrBusy) {
			t.Errorf("second writer: %v", err)
		}
		if err := repo.Delete(t.Context(), id); !errors.Is(err, repository.ErrBusy) {
			t.Errorf("Delete under a writer: %v", err)
		}
		if _, err := w.Commit(t.Context(), repository.Manifest{}, open); err != nil {
			t.Errorf("the first writer was disturbed: %v", err)
		}
	})
}

func TestCatalog(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		ids := []string{"db-20261121T101500Z-0001", "db-20261121T101600Z-0002", "db-1-20261121T101700Z-0003"}
		for _, id := range ids {
			mustPut(t, repo, id, []byte(id))
		}
		list := func(cluster string) []string {
			t.Helper()
			all, err := repo.List(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, m := range all {
				got = append(got, m.ID)
			}
			return got
		}
		if d := cmp.Diff([]string{ids[1], ids[0]}, list("db")); d != "" {
			t.Errorf("of db (-want +got):\n%s", d)
		}
		if got := list(""); len(got) != 3 {
			t.Errorf("all: %v", got)
		}
		v := repository.Verification{Time: began, Version: "3.6.1", Tool: "v1", Checked: "all of it"}
		p := repository.Proof{Level: repository.LevelRestorable, Verification: v}
		if err := repo.AddProof(t.Context(), ids[0], p); err != nil {
			t.Fatal(err)
		}
		m, err := repo.Get(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&v, m.Verified); d != "" {
			t.Errorf("verified (-want +got):\n%s", d)
		}
		failure := repository.Proof{Level: repository.LevelIntact, Failed: true, Reason: "a byte is wrong",
			Verification: repository.Verification{Time: began}}
		if err := repo.AddProof(t.Context(), ids[0], failure); err != nil {
			t.Fatal(err)
		}
		if m, err = repo.Get(t.Context(), ids[0]); err != nil || m.Verified == nil || m.Proof != "restorable" {
			t.Errorf("a proof that failed took away what was proven: %+v, %v", m, err)
		}
		if d := cmp.Diff(&failure, m.FailedProof); d != "" {
			t.Errorf("failed (-want +got):\n%s", d)
		}
		for _, level := range []repository.Level{repository.LevelPresent, repository.LevelIntact} {
			if err := repo.AddProof(t.Context(), ids[0], repository.Proof{Level: level}); err != nil {
				t.Fatal(err)
			}
			m, err := repo.Get(t.Context(), ids[0])
			if err != nil || (m.FailedProof == nil) != (level == repository.LevelIntact) || m.Proof != "restorable" {
				t.Errorf("after %s: %+v, %v", level, m, err)
			}
		}
		if err := repo.(repository.Presence).Present(t.Context(), ids[0]); err != nil {
			t.Errorf("it is there: %v", err)
		}
		if err := repo.AddProof(t.Context(), id, p); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("a proof of nothing: %v", err)
		}
		if err := repo.Delete(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		if err := repo.Delete(t.Context(), ids[0]); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("second Delete: %v", err)
		}
		if d := cmp.Diff([]string{ids[1]}, list("db")); d != "" {
			t.Errorf("after Delete (-want +got):\n%s", d)
		}
	})
}

func TestDamage(t *testing.T) {
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	for name, harm := range map[string]func([]byte) []byte{"flipped": flip, "truncated": cut} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, repo repository.Repository, root string) {
				mustPut(t, repo, id, noise(2<<20))
				path := filepath.Join(root, id+".snapshot")
				content, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, harm(content), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				r, _, err := repo.Reader(t.Context(), id)
				if err == nil {
					_, err = io.Copy(io.Discard, r)
					if closed := r.Close(); closed != nil {
						t.Error(closed)
					}
				}
				if !errors.Is(err, repository.ErrDamaged) {
					t.Errorf("read: %v", err)
				}
			})
		})
	}
}

func TestListReportsBrokenManifests(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		mustPut(t, repo, id, []byte("data"))
		for name, content := range map[string]string{
			"db-20261121T101500Z-bad1.json":   "{",
			"db-20261121T101500Z-bad2.json":   `{"format":2,"id":"db-20261121T101500Z-bad2"}`,
			"db-1-20261121T101500Z-bad3.json": "",
			"notes of mine.json":              "?",
		} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, err := repo.List(t.Context(), "db")
		if len(list) != 1 || !errors.Is(err, repository.ErrDamaged) || !errors.Is(err, repository.ErrFormat) {
			t.Errorf("listed %v, %v", list, err)
		}
		if strings.Contains(err.Error(), "bad3") {
			t.Errorf("another cluster's trouble: %v", err)
		}
		if _, err := put(t, repo, "db-20261121T101500Z-bad1", "op-1", nil); !errors.Is(err, repository.ErrExists) {
			t.Errorf("overwriting a manifest that can't be read: %v", err)
		}
	})
}

func TestIdentifiersAreChecked(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, _ string) {
		ctx := t.Context()
		const evil = "../../etc/passwd"
		_, err1 := repo.Writer(ctx, evil, "op")
		_, _, err2 := repo.Reader(ctx, evil)
		_, err3 := repo.Get(ctx, evil)
		for i, err := range []error{err1, err2, err3, repo.Delete(ctx, evil),
			repo.AddProof(ctx, evil, repository.Proof{})} {
			if !errors.Is(err, repository.ErrID) {
				t.Errorf("call %d: %v", i, err)
			}
		}
	})
}

func TestCanceledStream(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, _ string) {
		ctx, stop := context.WithCancel(t.Context())
		w, err := repo.Writer(ctx, id, "op-1")
		if err != nil {
			t.Fatal(err)
		}
		stop()
		for err == nil {
			_, err = w.Write(noise(1 << 20))
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Write: %v", err)
		}
		if _, err := w.Commit(t.Context(), repository.Manifest{}, open); !errors.Is(err, context.Canceled) {
			t.Errorf("Commit: %v", err)
		}
	})
}
