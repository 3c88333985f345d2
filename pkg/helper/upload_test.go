package helper

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const backupID = "db-20261121T101500Z-0a1b"

// serving runs the handlers of a repository's server, and tells its directory.
func serving(t *testing.T, stall time.Duration) (dialer, *uploads, string) {
	t.Helper()
	root := t.TempDir()
	d, err := repository.NewDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	u := &uploads{repo: d, open: nameOnly, stall: stall, byID: map[string]*upload{}}
	mux := http.NewServeMux()
	catalog{repo: d}.route(mux)
	u.route(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return dialTo(server.Listener), u, root
}

func nameOnly(name, _ string) (engine.SnapshotFacts, error) {
	return engine.SnapshotFacts{Schema: name}, nil
}

// pulled remembers its connections, to pull them out.
type pulled struct {
	dial  dialer
	mu    sync.Mutex
	conns []net.Conn
}

func (p *pulled) dialIn(ctx context.Context) (net.Conn, error) {
	c, err := p.dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
	return c, err
}

func (p *pulled) pull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// awaitDropped asks until the server has let go of every upload.
func awaitDropped(u *uploads) {
	for {
		u.mu.Lock()
		n := len(u.byID)
		u.mu.Unlock()
		if n == 0 {
			return
		}
		runtime.Gosched()
	}
}

func finished(t *testing.T, root string) []string {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".part") {
			out = append(out, e.Name())
		}
	}
	return out
}

func begin(t *testing.T, repo repository.Repository, operation string) repository.Writer {
	t.Helper()
	w, err := repo.Writer(t.Context(), backupID, operation)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestCutMidStream(t *testing.T) {
	dial, u, root := serving(t, time.Minute)
	cable := &pulled{dial: dial}
	repo := repository.NewRemote("pvc:claim", cable.dialIn)
	w := begin(t, repo, "op-1")
	chunk := make([]byte, 1<<20)
	for range 4 {
		if _, err := w.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	cable.pull()
	var err error
	for err == nil {
		_, err = w.Write(chunk)
	}
	if _, err := w.Commit(t.Context(), repository.Manifest{Engine: "etcd"}, nil); err == nil {
		t.Error("a cut stream was committed")
	}
	awaitDropped(u)
	if left := finished(t, root); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	w = begin(t, repo, "op-1")
	m, err := w.Commit(t.Context(), repository.Manifest{Engine: "etcd"}, nil)
	if err != nil || m.Facts.Schema != "etcd" {
		t.Errorf("the repeat: %+v, %v", m, err)
	}
}

// A client that died between stream and commit holds nobody up.
func TestRepeatReplacesALeftUpload(t *testing.T) {
	dial, _, _ := serving(t, time.Minute)
	repo := repository.NewRemote("pvc:claim", dial)
	left := begin(t, repo, "op-1")
	if _, err := io.WriteString(left, "first"); err != nil {
		t.Fatal(err)
	}
	// Its stream is under way: a second writer is refused until it ends.
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := left.Commit(stop, repository.Manifest{}, nil); err == nil {
		t.Error("committed without time")
	}
	w, err := repo.Writer(t.Context(), backupID, "op-1")
	for errors.Is(err, repository.ErrBusy) {
		w, err = repo.Writer(t.Context(), backupID, "op-1")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "second"); err != nil {
		t.Fatal(err)
	}
	if m, err := w.Commit(t.Context(), repository.Manifest{}, nil); err != nil || m.Bytes != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestTakeover(t *testing.T) {
	_, u, _ := serving(t, time.Minute)
	first, err := u.start(t.Context(), backupID, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.start(t.Context(), backupID, "op-2"); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("another operation: %v", err)
	}
	second, err := u.start(t.Context(), backupID, "op-1")
	if err != nil || second == first {
		t.Fatalf("same operation: %q, %v", second, err)
	}
	for name, want := range map[string]error{first: repository.ErrFinished, second: nil} {
		r := httptest.NewRequest(http.MethodPut, "/", nil)
		r.SetPathValue("id", backupID)
		r.SetPathValue("upload", name)
		if _, err := u.take(r, true); !errors.Is(err, repository.ErrFinished) {
			t.Errorf("commit before the stream: %v", err)
		}
		if _, err := u.take(r, false); !errors.Is(err, want) {
			t.Errorf("stream: %v, want %v", err, want)
		}
	}
	if _, err := u.start(t.Context(), backupID, "op-1"); !errors.Is(err, repository.ErrBusy) {
		t.Errorf("over a stream: %v", err)
	}
}

func TestStall(t *testing.T) {
	dial, u, root := serving(t, 20*time.Millisecond)
	repo := repository.NewRemote("pvc:claim", dial)
	w := begin(t, repo, "op-1")
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	awaitDropped(u)
	if left := finished(t, root); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if _, err := w.Commit(t.Context(), repository.Manifest{}, nil); err == nil {
		t.Error("a stalled stream was committed")
	}
}

// A file that is larger than all the memory must pass.
func TestMemoryStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it writes 256 MiB")
	}
	const size = 256 << 20
	dial, _, _ := serving(t, time.Minute)
	repo := repository.NewRemote("pvc:claim", dial)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := begin(t, repo, "op-1")
	began := time.Now()
	if _, err := io.Copy(w, io.LimitReader(zeros{}, size)); err != nil {
		t.Fatal(err)
	}
	if m, err := w.Commit(t.Context(), repository.Manifest{}, nil); err != nil || m.Bytes != size {
		t.Fatalf("%+v, %v", m, err)
	}
	t.Logf("written at %.0f MiB/s", 256/time.Since(began).Seconds())
	began = time.Now()
	r, _, err := repo.Reader(t.Context(), backupID)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("read at %.0f MiB/s", 256/time.Since(began).Seconds())
	runtime.ReadMemStats(&after)
	// Both sides live here. All that was ever allocated bounds the peak.
	if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
