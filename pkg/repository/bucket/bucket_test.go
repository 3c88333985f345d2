package bucket

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

const id = "my-db-20261123T101500Z-0a1b"

// described is a description with keys, and its secrets.
func described(t *testing.T) (Description, Secrets) {
	t.Helper()
	secret, public, err := archive.NewSigner("shop/offsite")
	if err != nil {
		t.Fatal(err)
	}
	identity, recipient, err := archive.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return Description{Name: "offsite", URL: "s3://backups/team", Recipients: []string{recipient},
			Trusted: []string{public}},
		Secrets{FileSigningKey: []byte(secret), FileIdentity: []byte(identity)}
}

// inDirectory is a repository over a directory instead of a bucket.
func inDirectory(t *testing.T, dir string, d Description, s Secrets) *Repository {
	t.Helper()
	at, err := store.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenIn(d, s, at, "shop", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func opened(path string) (engine.SnapshotFacts, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return engine.SnapshotFacts{}, err
	}
	if bytes.HasPrefix(content, []byte("broken")) {
		return engine.SnapshotFacts{}, engine.ErrNotSnapshot
	}
	return engine.SnapshotFacts{Members: []string{"my-db-1"}, Auth: true, Schema: "3.6.0",
		LogStart: &engine.LogStart{Timeline: "1", File: "000000010000000000000002"},
		Fingerprint: engine.Fingerprint{
			Proof: "7 keys", Readings: []engine.Reading{{Name: "revision", Value: "42"}, {Name: "keys", Value: "7"}}}}, nil
}

func manifest() repository.Manifest {
	return repository.Manifest{Engine: "etcd", Cluster: "my-db", Namespace: "shop", Version: "3.6.16", ClusterID: "cid",
		Member: "my-db-2", Tool: "v1", Origin: "somewhere", Scheduled: true, Incarnation: "token-1",
		StartedAt:  time.Date(2026, 11, 23, 10, 15, 0, 0, time.UTC),
		FinishedAt: time.Date(2026, 11, 23, 10, 16, 0, 0, time.UTC)}
}

func save(t *testing.T, r *Repository, operation, content string) (repository.Manifest, error) {
	t.Helper()
	w, err := r.Writer(t.Context(), id, operation)
	if err != nil {
		return repository.Manifest{}, err
	}
	defer func() { _ = w.Abort() }()
	if _, err := io.WriteString(w, content); err != nil {
		return repository.Manifest{}, err
	}
	return w.Commit(t.Context(), manifest(), opened)
}

func TestRoundTrip(t *testing.T) {
	d, s := described(t)
	r := inDirectory(t, t.TempDir(), d, s)
	content := strings.Repeat("page ", 3<<20)
	made, err := save(t, r, "op-1", content)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("made and read differ (-made +read):\n%s", diff)
	}
	want := manifest()
	want.Format, want.ID, want.File, want.Bytes, want.Operation = 2, id, stream, int64(len(content)), "op-1"
	want.Facts, _ = opened(os.DevNull)
	want.Encrypted, want.Stored = true, got.Stored
	if diff := cmp.Diff(want, got); diff != "" || got.Stored <= 0 || got.Stored >= got.Bytes {
		t.Errorf("%d bytes stored (-want +got):\n%s", got.Stored, diff)
	}
	in, _, err := r.Reader(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(in)
	if err != nil || string(read) != content || in.Close() != nil {
		t.Errorf("read %d bytes, %v", len(read), err)
	}
	c, err := r.Archive().List(t.Context(), archive.Scope{})
	if err != nil || len(c.Entries) != 1 || c.Entries[0].Incarnation != "token-1" || c.Entries[0].Log == nil ||
		*c.Entries[0].Log != (archive.LogStart{Timeline: "1", Segment: "000000010000000000000002"}) {
		t.Errorf("the catalogue has %+v, %v", c, err)
	}
	all, err := r.List(t.Context(), "my-db")
	if err != nil || len(all) != 1 || all[0].ID != id || all[0].Stored != got.Stored || all[0].Verified != nil ||
		all[0].Incarnation != "token-1" || all[0].Facts.LogStart == nil ||
		*all[0].Facts.LogStart != *want.Facts.LogStart {
		t.Errorf("%+v, %v", all, err)
	}
	if others, err := r.List(t.Context(), "other"); len(others) != 0 || err != nil {
		t.Errorf("%+v, %v", others, err)
	}
	if err := r.AddProof(t.Context(), id, repository.Proof{Level: repository.LevelRestorable,
		Verification: repository.Verification{Version: "3.6.16", Tool: "v1", Checked: "all of it"}}); err != nil {
		t.Fatal(err)
	}
	if got, err = r.Get(t.Context(), id); err != nil || got.Verified == nil || got.Proof != "restorable" ||
		got.Verified.Checked != "all of it" {
		t.Errorf("%+v, %v", got.Verified, err)
	}
	if err := r.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(t.Context(), id); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("a second deletion: %v", err)
	}
}

// TestRepeat: the operation that wrote a backup finds it, and no other may write it.
func TestRepeat(t *testing.T) {
	d, s := described(t)
	r := inDirectory(t, t.TempDir(), d, s)
	first, err := save(t, r, "op-1", "content")
	if err != nil {
		t.Fatal(err)
	}
	again, err := save(t, r, "op-1", "other content")
	if diff := cmp.Diff(first, again); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := save(t, r, "op-2", "content"); !errors.Is(err, repository.ErrExists) {
		t.Errorf("another operation: %v", err)
	}
}

// TestNothingHalf: what the engine can't read, or what was given up, is no backup and leaves no file.
func TestNothingHalf(t *testing.T) {
	d, s := described(t)
	r := inDirectory(t, t.TempDir(), d, s)
	if _, err := save(t, r, "op-1", "broken"); !errors.Is(err, engine.ErrNotSnapshot) {
		t.Errorf("what the engine can't read: %v", err)
	}
	w, err := r.Writer(t.Context(), id, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "half"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, repository.ErrFinished) {
		t.Errorf("a write after the end: %v", err)
	}
	if _, err := r.Get(t.Context(), id); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("half a backup: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(r.staging, "*")); len(left) > 0 || err != nil {
		t.Errorf("left %q, %v", left, err)
	}
}

// TestKeys: a holder of no key reads nothing, and a reader that trusts nobody believes nothing.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	d, s := described(t)
	if _, err := save(t, inDirectory(t, dir, d, s), "op-1", "content"); err != nil {
		t.Fatal(err)
	}
	blind := inDirectory(t, dir, d, Secrets{FileSigningKey: s[FileSigningKey]})
	if _, _, err := blind.Reader(t.Context(), id); err == nil || !strings.Contains(err.Error(), "no secret key") {
		t.Errorf("without a key: %v", err)
	}
	others, otherSecrets := described(t)
	other := inDirectory(t, dir, others, otherSecrets)
	if _, err := other.Get(t.Context(), id); !errors.Is(err, repository.ErrDamaged) ||
		!errors.Is(err, archive.ErrSignature) {
		t.Errorf("signed by nobody who is trusted: %v", err)
	}
	mistaken := inDirectory(t, dir, d, Secrets{FileIdentity: otherSecrets[FileIdentity]})
	in, _, err := mistaken.Reader(t.Context(), id)
	if err == nil {
		_, err = io.ReadAll(in)
	}
	if err == nil || !strings.Contains(err.Error(), "other recipients") {
		t.Errorf("with the wrong key: %v", err)
	}
}

func TestDescription(t *testing.T) {
	d, s := described(t)
	for name, change := range map[string]func(*Description){
		"no recipient":         func(d *Description) { d.Recipients = nil },
		"plain with recipient": func(d *Description) { d.Plain = true },
		"no bucket":            func(d *Description) { d.URL = "s3:///x" },
		"a password":           func(d *Description) { d.URL = "s3://me:geheim@bucket" },
		"another store":        func(d *Description) { d.URL = "ftp://bucket" },
		"no container":         func(d *Description) { d.URL = "azure://account" },
		"a region of Azure":    func(d *Description) { d.URL, d.Region = "azure://account/c", "west" },
		"a region of Google":   func(d *Description) { d.URL, d.Region = "gs://bucket", "west" },
		"a region of a claim":  func(d *Description) { d.URL, d.Region = "pvc:backups", "west" },
		"a secret of a claim":  func(d *Description) { d.URL, d.Credentials = "pvc:backups", "keys" },
		"out of a claim":       func(d *Description) { d.URL = "pvc:backups/../other" },
		"a path of Google":     func(d *Description) { d.URL, d.PathStyle = "gs://bucket", true },
	} {
		wrong := d
		change(&wrong)
		if err := wrong.Check(); !errors.Is(err, ErrDescription) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	content, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	s["AWS_ACCESS_KEY_ID"] = []byte("me")
	for name, value := range s {
		if err := os.WriteFile(filepath.Join(dir, name), value, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, FileDescription), content, 0o600); err != nil {
		t.Fatal(err)
	}
	gotD, gotS, err := ReadDirectory(dir)
	if diff := cmp.Diff(d, gotD) + cmp.Diff(map[string][]byte(s), map[string][]byte(gotS)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestS3 writes and reads in a real bucket.
func TestS3(t *testing.T) {
	c := storetest.StartS3(t).Config(t, false)
	writesAndReads(t, Description{URL: "s3://" + c.Bucket + "/" + c.Prefix, Endpoint: c.Endpoint, Region: c.Region,
		PathStyle: true, CA: string(c.CA)}, c.Credentials)
}

// TestAzure writes and reads in a container of an emulator.
func TestAzure(t *testing.T) {
	c := storetest.StartAzure(t).Config(t)
	writesAndReads(t, Description{URL: "azure://" + c.Account + "/" + c.Container + "/" + c.Prefix, Endpoint: c.Endpoint,
		PathStyle: true, CA: string(c.CA)}, c.Credentials)
}

// TestGoogle writes and reads in a bucket of a fake.
func TestGoogle(t *testing.T) {
	c := storetest.StartGCS(t).Config(t)
	writesAndReads(t, Description{URL: "gs://" + c.Bucket + "/" + c.Prefix, Endpoint: c.Endpoint, CA: string(c.CA)},
		c.Credentials)
}

func writesAndReads(t *testing.T, at Description, credentials func(string) string) {
	t.Helper()
	d, s := described(t)
	d.URL, d.Endpoint, d.Region, d.PathStyle, d.CA = at.URL, at.Endpoint, at.Region, at.PathStyle, at.CA
	for _, name := range CredentialNames() {
		s[name] = []byte(credentials(name) + "\n")
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := Open(d, s, "shop", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if free, err := r.Probe(t.Context()); free != -1 || err != nil {
		t.Errorf("%d, %v", free, err)
	}
	content := string(storetest.Noise(20 << 20))
	if _, err := save(t, r, "op-1", content); err != nil {
		t.Fatal(err)
	}
	in, _, err := r.Reader(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(in)
	if err != nil || string(read) != content {
		t.Errorf("read %d bytes, %v", len(read), err)
	}
}

func FuzzParseDescription(f *testing.F) {
	f.Add([]byte(`{"name":"a","url":"s3://b/c","plain":true}`))
	f.Add([]byte(`{"name":"a","url":"azure://b/c/d","plain":true}`))
	f.Add([]byte(`{"name":"a","url":"gs://b/c","plain":true}`))
	f.Add([]byte(`{"name":"a","url":"s3://b","recipients":["age1"]}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := ParseDescription(content)
		if err != nil {
			if !errors.Is(err, ErrDescription) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		again, err := d.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if read, err := ParseDescription(again); err != nil || !cmp.Equal(read, d) {
			t.Fatalf("%+v, %v", read, err)
		}
	})
}

// TestLongestName: a backup of a cluster with the longest name, whose history began with a restore in place.
func TestLongestName(t *testing.T) {
	d, s := described(t)
	r := inDirectory(t, t.TempDir(), d, s)
	cluster := strings.Repeat("c", 40)
	longest := cluster + "-20261121T101500Z-0a1b"
	w, err := r.Writer(t.Context(), longest, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "pages"); err != nil {
		t.Fatal(err)
	}
	m := manifest()
	m.Cluster, m.Engine, m.Version = cluster, "postgres", "18.0"
	m.Incarnation = cluster + ".dbop-op-0123456789/" + cluster + "-12"
	if _, err := w.Commit(t.Context(), m, opened); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Get(t.Context(), longest); err != nil || got.Incarnation == "" {
		t.Errorf("%+v, %v", got, err)
	}
}
