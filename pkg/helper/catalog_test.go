package helper

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

func post(t *testing.T, dial dialer, path string, in, out any) {
	t.Helper()
	content, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	resp, err := client.Post(receiverURL+path, "application/json", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %s", path, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// What goes wrong without a type still arrives as an error.
func TestMalformedRequests(t *testing.T) {
	dial, _, _ := serving(t, time.Minute)
	client := wire.NewClient(dial)
	defer client.CloseIdleConnections()
	got := map[string]int{}
	for _, path := range []string{"/v1/backups/x/verified", "/v1/backups/x/uploads", "/v1/backups/x/uploads/y/commit",
		"/v1/nothing"} {
		resp, err := client.Post(receiverURL+path, "application/json", bytes.NewReader([]byte("{")))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got[path] = resp.StatusCode
	}
	want := map[string]int{
		"/v1/backups/x/verified": 400, "/v1/backups/x/uploads": 400,
		"/v1/backups/x/uploads/y/commit": 400, "/v1/nothing": 404,
	}
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestCheck: a backup is read where it is, and what is wrong with it arrives as what it is.
func TestCheck(t *testing.T) {
	dial, _, root := serving(t, time.Minute)
	repo := repository.NewRemote("pvc:claim", dial)
	w := begin(t, repo, "op-1")
	_, err := w.Write(bytes.Repeat([]byte("bytes"), 1<<20))
	if err == nil {
		_, err = w.Commit(t.Context(), repository.Manifest{Engine: "etcd"}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var read, total int64
	check := func() error {
		return repository.Check(t.Context(), repo, backupID, func(n, of int64) { read, total = n, of })
	}
	if err := check(); err != nil || read != 5<<20 || total != 5<<20 {
		t.Errorf("%d of %d bytes: %v", read, total, err)
	}
	if err := repository.Check(t.Context(), repo, "db-20200102T030405Z-0000", nil); !errors.Is(err,
		repository.ErrNotFound) {
		t.Errorf("no backup: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(root, backupID+"*"))
	if err != nil {
		t.Fatal(err)
	}
	file := slices.MaxFunc(files, func(a, b string) int { return cmp.Compare(size(t, a), size(t, b)) })
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)/2]++
	for name, content := range map[string][]byte{"a byte": flipped, "its end": whole[:len(whole)-1]} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := check(); !errors.Is(err, repository.ErrDamaged) {
			t.Errorf("%s is wrong: %v", name, err)
		}
	}
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestCheckUnknown: a server of an older version, and one that says nothing at its end, are no proof.
func TestCheckUnknown(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+repository.PathBackups+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		wire.Answer(w, http.StatusOK, repository.Manifest{Format: 1, ID: r.PathValue("id"), Engine: "etcd", Bytes: 7,
			File: r.PathValue("id") + ".snapshot", SHA256: strings.Repeat("0", 64)})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	repo := repository.NewRemote("pvc:claim", dialTo(server.Listener))
	if err := repository.Check(t.Context(), repo, backupID, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an older version: %v", err)
	}
	mux.HandleFunc("GET "+repository.PathBackups+"/{id}/check", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"bytes":5}`)
	})
	if err := repository.Check(t.Context(), repo, backupID, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ends without a word: %v", err)
	}
}
