package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

// replace puts other bytes in the place of an object, as who may write to a bucket can.
func replace(t *testing.T, s store.Store, key string, body []byte) {
	t.Helper()
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, body, store.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestDamage flips a byte at several places of each object of a backup, truncates it, and removes it. Each must
// be found by the verification, and no restore may end well.
func TestDamage(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		m := mustSave(t, a, "b", pages(9<<20))
		entry := find(t, a, "b")
		check := func(what, key string) {
			t.Helper()
			_, restored := load(t, a, "b")
			verified := a.Verify(t.Context(), m, LevelIntact)
			if key == entry.Key {
				verified = restored // the manifest at hand is the one before the damage
			}
			for _, err := range []error{restored, verified} {
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrSignature) && !errors.Is(err, ErrNotFound) {
					t.Errorf("%s of %s: %v", what, key, err)
				}
			}
		}
		for _, key := range append(storetest.Keys(t, s, kindData+"/")[:2], entry.Key) {
			body := []byte(storetest.Content(t, s, key))
			for _, at := range []int{0, 100, len(body) / 2, len(body) - 1} {
				flipped := bytes.Clone(body)
				flipped[at] ^= 1
				replace(t, s, key, flipped)
				check("a flipped byte", key)
			}
			for _, length := range []int{0, len(body) / 2, len(body) - 1} {
				replace(t, s, key, body[:length])
				check("truncation", key)
			}
			if err := s.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			check("removal", key)
			replace(t, s, key, body)
		}
		if _, err := load(t, a, "b"); err != nil {
			t.Errorf("mended: %v", err)
		}
	})
}

// TestExchangedVolumes holds that volumes can't change places, within a backup or between two.
func TestExchangedVolumes(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	mustSave(t, a, "one", pages(9<<20))
	mustSave(t, a, "two", pages(9<<20+1))
	all := storetest.Keys(t, s, kindData+"/")
	first, second := storetest.Content(t, s, all[0]), storetest.Content(t, s, all[1])
	replace(t, s, all[0], []byte(second))
	replace(t, s, all[1], []byte(first))
	if _, err := load(t, a, "one"); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

func TestForged(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	m := mustSave(t, a, "b", pages(100))
	e := find(t, a, "b")
	genuine := []byte(storetest.Content(t, s, e.Key))
	text, _, _ := strings.Cut(string(genuine), "\n\n")
	forger, _ := testKeys(t)
	foreign, err := note.Sign(&note.Note{Text: text + "\n"}, forger.Signer)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body []byte
		want error
	}{
		"unsigned":            {[]byte(text + "\n"), ErrSignature},
		"signed by a forger":  {foreign, ErrSignature},
		"another signed text": {[]byte(strings.Replace(string(genuine), `"etcd"`, `"evil"`, 1)), ErrSignature},
		"empty":               {nil, ErrSignature},
		"too long":            {bytes.Repeat([]byte("x"), maxSigned+1), nil},
	} {
		replace(t, s, e.Key, c.body)
		if _, err := a.Manifest(t.Context(), e); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	replace(t, s, e.Key, genuine)
	// A genuine manifest under another name would be an old backup shown as a new one, or one of another cluster.
	for _, key := range []string{
		strings.Replace(e.Key, "my-db/", "other/", 1),
		strings.Replace(e.Key, "_v-3.6.1", "_v-3.6.2", 1),
		strings.Replace(e.Key, m.Attempt, "01KAZZZZZZZZZZZZZZZZZZZZZZ", 1),
	} {
		replace(t, s, key, genuine)
		moved := e
		moved.Key = key
		if _, err := a.Manifest(t.Context(), moved); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestWrongKeys(t *testing.T) {
	keys, _ := testKeys(t)
	other, _ := testKeys(t)
	s := directory(t)
	mustSave(t, Open(s, keys), "b", pages(100))
	wrong := keys
	wrong.Identities = other.Identities
	if _, err := load(t, Open(s, wrong), "b"); !errors.Is(err, volume.ErrKey) || errors.Is(err, ErrDamaged) {
		t.Errorf("another key: %v", err)
	}
	wrong.Identities = nil
	if _, err := load(t, Open(s, wrong), "b"); !errors.Is(err, volume.ErrKey) {
		t.Errorf("no key: %v", err)
	}
	wrong = keys
	wrong.Trusted = other.Trusted
	if _, err := load(t, Open(s, wrong), "b"); !errors.Is(err, ErrSignature) {
		t.Errorf("another signature: %v", err)
	}
}

// TestRotation writes with new keys and reads both, and what was written for two recipients with either.
func TestRotation(t *testing.T) {
	former, _ := testKeys(t)
	next, _ := testKeys(t)
	s := directory(t)
	mustSave(t, Open(s, former), "old", pages(100))
	both := next
	both.Recipients = append(slices.Clone(next.Recipients), former.Recipients...)
	mustSave(t, Open(s, both), "both", pages(100))
	both.Identities = append(slices.Clone(next.Identities), former.Identities...)
	both.Trusted = trustAll{former.Trusted, next.Trusted}
	a := Open(s, both)
	for _, id := range []string{"old", "both"} {
		if _, err := load(t, a, id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	lost := former
	lost.Trusted = both.Trusted
	if _, err := load(t, Open(s, lost), "both"); err != nil {
		t.Errorf("with the other key alone: %v", err)
	}
}

type trustAll []note.Verifiers

func (l trustAll) Verifier(name string, hash uint32) (note.Verifier, error) {
	for _, v := range l {
		if found, err := v.Verifier(name, hash); err == nil {
			return found, nil
		}
	}
	return nil, &note.UnknownVerifierError{Name: name, KeyHash: hash}
}

// TestForeignObjects fills every kind of key with what others might put there.
func TestForeignObjects(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	mustSave(t, a, "b", pages(100))
	for _, key := range []string{
		"README", "manifests/x", "manifests/team-a/my-db/x.json", "manifests/team-a/my-db/01KA_n-x.json",
		"manifests/team-a/my-db/01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-x_e-e_b--1_f-1.json",
		"manifests/team-a/my-db/01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-x!1b_e-e_b-1_f-1.json",
		"manifests/team-a/my-db/01KAF4ZV1CQ1DW31NN2ZQHCB7D_n-x_e-e_b-1_f-99999999999999.json",
		"holds/team-a/my-db/x.json", "proofs/team-a/my-db/x.json", "log/team-a/my-db/1/1/x",
		"attempts/team-a/my-db/x/started.json", "data/team-a/my-db/x", "data/other/thing/with/a/path",
	} {
		storetest.Put(t, s, key, "of somebody else")
	}
	c, err := a.List(t.Context(), Scope{})
	if err != nil || len(c.Entries) != 1 || c.Foreign != 6 {
		t.Errorf("%+v, %v", c, err)
	}
	before := storetest.Keys(t, s, "")
	p, err := a.Plan(t.Context(), scope, Retention{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Prune(t.Context(), p); err != nil {
		t.Error(err)
	}
	if after := storetest.Keys(t, s, ""); !slices.Equal(before, after) {
		t.Errorf("prune changed %q to %q", before, after)
	}
}

// TestHostileManifests are signed, by a writer that was taken over, and lie.
func TestHostileManifests(t *testing.T) {
	sum := strings.Repeat("0", 64)
	good := func() *Manifest {
		return &Manifest{
			Format: Format, ID: "b", Attempt: "01KAF4ZV1CQ1DW31NN2ZQHCB7D", Scope: scope, Engine: "etcd", Operation: "op",
			StartedAt: time.Unix(1, 0), FinishedAt: time.Unix(2, 0),
			Streams: []Stream{{Name: "a", Volumes: []Volume{{Bytes: 1, SHA256: sum, Plain: 1}}}},
		}
	}
	if err := good().check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(m *Manifest){
		"format 0":       func(m *Manifest) { m.Format = 0 },
		"attempt":        func(m *Manifest) { m.Attempt = "../../x" },
		"parent":         func(m *Manifest) { m.Parent = "../../x" },
		"its own parent": func(m *Manifest) { m.Parent = m.Attempt },
		"stream path":    func(m *Manifest) { m.Streams[0].Name = "../x" },
		"stream hidden":  func(m *Manifest) { m.Streams[0].Name = ".x" },
		"stream twice":   func(m *Manifest) { m.Streams = append(m.Streams, m.Streams[0]) },
		"no streams":     func(m *Manifest) { m.Streams = nil },
		"negative":       func(m *Manifest) { m.Streams[0].Volumes[0].Plain = -1 },
		"nothing stored": func(m *Manifest) { m.Streams[0].Volumes[0].Bytes = 0 },
		"overflow": func(m *Manifest) {
			m.Streams[0].Volumes = slices.Repeat([]Volume{{1 << 59, sum,
				1 << 59}}, 30)
		},
		"too many volumes": func(m *Manifest) { m.Streams[0].Volumes = slices.Repeat(m.Streams[0].Volumes, maxVolumes+1) },
		"no hash":          func(m *Manifest) { m.Streams[0].Volumes[0].SHA256 = "00" },
		"ends before":      func(m *Manifest) { m.FinishedAt = time.Unix(0, 0) },
	} {
		m := good()
		change(m)
		if err := m.check(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := good()
	m.Format = 3
	if err := m.check(); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// TestBomb stores, with a good signature, a volume that decompresses to more than its manifest says.
func TestBomb(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	m := mustSave(t, a, "b", make([]byte, 64<<20))
	m.Streams[0].Volumes[0].Plain = 1000
	r, err := a.Read(t.Context(), m, "snapshot.db")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var got int
	p := make([]byte, 100)
	for err == nil {
		var n int
		n, err = r.Read(p)
		got += n
	}
	if !errors.Is(err, ErrDamaged) || got > 1000 {
		t.Errorf("%d bytes, %v", got, err)
	}
}

func TestControlCharacters(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	for _, text := range []string{"\x1b[2J", "a\u202eb", "\u0007", "a\nb"} {
		w, _, err := a.Begin(t.Context(), request("b", "op", ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Stream(t.Context(), "x", strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), Manifest{Engine: "etcd", Member: text}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", text, err)
		}
		body, err := json.Marshal(map[string]string{"member": text})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := note.Sign(&note.Note{Text: string(body) + "\n"}, keys.Signer)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.verify(signed, &Manifest{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("reading %q: %v", text, err)
		}
	}
}

// half is a store whose connections are cut in the middle of a volume, or before its first byte.
type half struct {
	store.Store
	first bool
}

func (h half) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if strings.HasPrefix(key, kindData) {
		length /= 2
		if h.first {
			length = 0
		}
	}
	return h.Store.Get(ctx, key, offset, length)
}

// TestConnectionLost holds that a broken connection is not called damage.
func TestConnectionLost(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	mustSave(t, Open(s, keys), "b", pages(9<<20))
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "get" && strings.HasPrefix(c.Key, kindData) {
			return store.ErrDenied
		}
		return nil
	}}
	if _, err := load(t, Open(f, keys), "b"); !errors.Is(err, store.ErrDenied) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	// Half of the bytes came, and whether there are more can't be asked.
	f.Before = func(c storetest.Call) error {
		if c.Name == "head" {
			return storetest.ErrFault
		}
		return nil
	}
	if _, err := load(t, Open(half{f, false}, keys), "b"); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("cut, and out of reach: %v", err)
	}
	open := keys
	open.Recipients = nil
	mustSave(t, Open(s, open), "c", pages(9<<20))
	for _, id := range []string{"b", "c"} {
		for _, first := range []bool{false, true} {
			if _, err := load(t, Open(half{s, first}, keys), id); err == nil || errors.Is(err, ErrDamaged) {
				t.Errorf("%s is cut: %v", id, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	a := Open(s, keys)
	m, err := a.Manifest(ctx, find(t, a, "b"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Read(ctx, m, "snapshot.db")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
