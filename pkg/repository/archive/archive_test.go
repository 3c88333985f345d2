package archive

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

var scope = Scope{Namespace: "team-a", Cluster: "my-db"}

// testKeys are new keys: one pair for encryption, one for signatures.
func testKeys(t testing.TB) (Keys, string) {
	t.Helper()
	secret, recipient, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	signer, public, err := NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseKeys([]string{recipient}, []string{secret}, signer, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	return k, secret
}

func directory(t testing.TB) store.Store {
	t.Helper()
	d, err := store.NewDirectory(filepath.Join(t.TempDir(), "repo"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// each runs a test on a directory, and on S3 where a server was built.
func each(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Run("directory", func(t *testing.T) { test(t, directory(t)) })
	t.Run("s3", func(t *testing.T) { test(t, storetest.StartS3(t).Open(t)) })
}

// pages is content as databases have it: half of it repeats.
func pages(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := 0; i < n; i += 2 {
		b[i] = byte(r.Uint32())
	}
	return b
}

func request(id, operation, source string) Request {
	return Request{Scope: scope, ID: id, Operation: operation, Source: source}
}

// save writes a backup of one stream with small volumes.
func save(t testing.TB, a *Archive, r Request, body []byte) (*Manifest, error) {
	t.Helper()
	w, done, err := a.Begin(t.Context(), r)
	if err != nil || done != nil {
		return done, err
	}
	w.limit = func(int) int64 { return 1 << 20 }
	if err := w.Stream(t.Context(), "snapshot.db", bytes.NewReader(body)); err != nil {
		return nil, err
	}
	return w.Commit(t.Context(), Manifest{
		Engine: "etcd", Version: "3.6.1", Incarnation: "1", Position: "4711", Facts: map[string]string{"keys": "3"},
		Scheduled: true,
	})
}

func mustSave(t testing.TB, a *Archive, id string, body []byte) *Manifest {
	t.Helper()
	m, err := save(t, a, request(id, "op-"+id, ""), body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func find(t testing.TB, a *Archive, id string) Entry {
	t.Helper()
	e, err := a.Find(t.Context(), scope, id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// load restores a backup as a reader would, manifest first.
func load(t testing.TB, a *Archive, id string) ([]byte, error) {
	t.Helper()
	e, err := a.Find(t.Context(), scope, id)
	if err != nil {
		return nil, err
	}
	m, err := a.Manifest(t.Context(), e)
	if err != nil {
		return nil, err
	}
	r, err := a.Read(t.Context(), m, "snapshot.db")
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r)
	return body, errors.Join(err, r.Close())
}

func TestRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		body := pages(11<<20 + 17)
		m := mustSave(t, a, "my-db-20261121T101500Z-0a1b", body)
		if n := len(m.Streams[0].Volumes); n < 3 {
			t.Errorf("it has %d volumes", n)
		}
		e := find(t, a, m.ID)
		want := Entry{
			Scope: scope, ID: m.ID, Attempt: m.Attempt, Engine: "etcd", Version: "3.6.1", Incarnation: "1",
			Position: "4711", Bytes: m.Stored(), StartedAt: attemptTime(m.Attempt),
			FinishedAt: m.FinishedAt.Truncate(time.Second), Scheduled: true, Encrypted: true, Key: e.Key, Stored: e.Stored,
		}
		if d := cmp.Diff(want, e); d != "" {
			t.Errorf("the listing (-want +got):\n%s", d)
		}
		read, err := a.Manifest(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, read); d != "" {
			t.Errorf("the manifest (-written +read):\n%s", d)
		}
		got, err := load(t, a, m.ID)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("read %d bytes of %d, %v", len(got), len(body), err)
		}
		for _, level := range []Level{LevelPresent, LevelIntact} {
			if err := a.Verify(t.Context(), m, level); err != nil {
				t.Errorf("%s: %v", level, err)
			}
		}
		if keys := storetest.Keys(t, s, kindAttempt+"/"); len(keys) != 0 {
			t.Errorf("attempts are left: %q", keys)
		}
	})
}

func TestUnencrypted(t *testing.T) {
	keys, _ := testKeys(t)
	keys.Recipients, keys.Identities = nil, nil
	a := Open(directory(t), keys)
	body := pages(100)
	m := mustSave(t, a, "plain", body)
	if got, err := load(t, a, "plain"); err != nil || !bytes.Equal(got, body) || m.Encrypted {
		t.Error(err, len(got))
	}
}

func TestEmptyStream(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	mustSave(t, a, "empty", nil)
	if got, err := load(t, a, "empty"); err != nil || len(got) != 0 {
		t.Error(err, len(got))
	}
}

func TestRepeatFindsTheBackup(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	first := mustSave(t, a, "b", pages(100))
	again, err := save(t, a, request("b", "op-b", ""), pages(200))
	if err != nil || again.Attempt != first.Attempt {
		t.Errorf("the repeat: %v", err)
	}
	if _, err := save(t, a, request("b", "op-other", ""), pages(200)); !errors.Is(err, ErrExists) {
		t.Errorf("another operation: %v", err)
	}
}

func TestKeysStayInside(t *testing.T) {
	keys, secret := testKeys(t)
	s := directory(t)
	mustSave(t, Open(s, keys), "b", []byte("the content of the database"))
	for _, key := range storetest.Keys(t, s, "") {
		body := storetest.Content(t, s, key)
		for _, hidden := range []string{"AGE-SECRET", "PRIVATE+KEY", strings.TrimSpace(secret), "the content"} {
			if strings.Contains(body, hidden) {
				t.Errorf("%s holds %q", key, hidden)
			}
		}
	}
}

func TestParseKeysHidesSecrets(t *testing.T) {
	for _, c := range [][]string{{"AGE-SECRET-KEY-1WRONG", ""}, {"", "PRIVATE+KEY+wrong"}} {
		var identities []string
		if c[0] != "" {
			identities = c[:1]
		}
		_, err := ParseKeys(nil, identities, c[1], nil)
		if err == nil || strings.Contains(err.Error(), "WRONG") || strings.Contains(err.Error(), "wrong") {
			t.Error(err)
		}
	}
}
