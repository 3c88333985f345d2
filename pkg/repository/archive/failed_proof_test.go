package archive

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestFailedProof: one that failed is told until one of its level or a higher one succeeds, and takes nothing away from
// what was proven before.
func TestFailedProof(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	s := directory(t)
	a, began, steps := Open(s, keys), time.Now(), 0
	m := mustSave(t, a, "b", pages(10))
	add := func(a *Archive, p Proof) {
		t.Helper()
		steps++
		a.now = func() time.Time { return began.Add(time.Duration(steps) * time.Second) }
		if err := a.AddProof(t.Context(), m, p); err != nil {
			t.Fatal(err)
		}
	}
	failed := func() *Proof {
		t.Helper()
		p, err := a.FailedProof(t.Context(), find(t, a, "b"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	add(Open(s, others), Proof{Level: LevelIntact, Failed: true, Reason: "forged"})
	if p := failed(); p != nil {
		t.Errorf("nobody trusted signed %+v", p)
	}
	add(a, Proof{Level: LevelRestorable})
	add(a, Proof{Level: LevelIntact, Failed: true, Reason: "a byte\nis wrong", By: "me", Tool: "v1"})
	add(a, Proof{Level: LevelPresent})
	p := failed()
	if p == nil || p.Level != LevelIntact || !p.Failed || p.Reason != "a byte is wrong" || p.By != "me" || p.Tool != "v1" {
		t.Fatalf("the proof that failed is %+v", p)
	}
	e := find(t, a, "b")
	if e.Failed == nil || e.Failed.Level != LevelIntact || e.Proof == nil || e.Proof.Level != LevelRestorable {
		t.Errorf("listed as failed %+v, proven %+v", e.Failed, e.Proof)
	}
	best, err := a.BestProof(t.Context(), e)
	if err != nil || best == nil || best.Level != LevelRestorable || best.Failed {
		t.Errorf("the best proof is %+v, %v", best, err)
	}
	add(a, Proof{Level: LevelIntact})
	if p, e := failed(), find(t, a, "b"); p != nil || e.Failed != nil {
		t.Errorf("it was answered: %+v, %+v", p, e.Failed)
	}
}

// TestFailedProofIsNoneToOthers: a program that knows only levels that succeed finds none in a proof that failed,
// neither under its name nor under that of a success.
func TestFailedProofIsNoneToOthers(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	m := mustSave(t, a, "b", pages(10))
	if err := a.AddProof(t.Context(), m, Proof{Level: LevelRestorable, Failed: true, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	key := storetest.Keys(t, s, kindProof)[0]
	_, rest, _ := parseKey(kindProof, key)
	_, fields, ok := parseName(rest)
	if !ok || Level(fields['l']).rank() != 0 {
		t.Fatalf("%s names the level %q", key, fields['l'])
	}
	var body struct{ Level Level }
	if err := a.getSigned(t.Context(), key, &body); err != nil || body.Level != "failed-restorable" {
		t.Errorf("what is signed is %q, %v", body.Level, err)
	}
	in, err := s.Get(t.Context(), key, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	buf := make([]byte, 1<<16)
	for n := 1; n > 0; {
		n, _ = in.Read(buf)
		text.Write(buf[:n])
	}
	_ = in.Close()
	storetest.Put(t, s, strings.Replace(key, "failed-", "", 1), text.String())
	if best, err := a.BestProof(t.Context(), find(t, a, "b")); err != nil || best != nil {
		t.Errorf("under the name of a success it counts: %+v, %v", best, err)
	}
}

// TestPlanWithAFailedProof: the newest proven backup whose later proof failed lets no older proven one go, and what
// nobody trusted signed changes nothing.
func TestPlanWithAFailedProof(t *testing.T) {
	for name, c := range map[string]struct {
		trusted bool
		want    []string
	}{
		"signed": {true, []string{"b3", "b2", "b0"}},
		"forged": {false, []string{"b3", "b2"}},
	} {
		t.Run(name, func(t *testing.T) {
			keys, _ := testKeys(t)
			others, _ := testKeys(t)
			s := directory(t)
			a := Open(s, keys)
			provenOldest(t, a, 4)
			m, err := a.Manifest(t.Context(), find(t, a, "b2"))
			if err == nil {
				err = a.AddProof(t.Context(), m, Proof{Level: LevelRestorable})
			}
			if err != nil {
				t.Fatal(err)
			}
			by := a
			if !c.trusted {
				by = Open(s, others)
			}
			by.now = func() time.Time { return time.Now().Add(time.Minute) }
			if err := by.AddProof(t.Context(), m, Proof{Level: LevelPresent, Failed: true}); err != nil {
				t.Fatal(err)
			}
			p, err := Open(s, keys).Plan(t.Context(), scope, Retention{Last: 1})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, kept(p.Decisions)); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}
		})
	}
}

// TestVerifyBytesWithoutAKey: what is stored is compared all the same.
func TestVerifyBytesWithoutAKey(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	m := mustSave(t, Open(s, keys), "b", pages(10))
	keys.Identities = nil
	a := Open(s, keys)
	if checked, err := a.VerifyBytes(t.Context(), m); err != nil || checked != StoredOnly {
		t.Errorf("%q, %v", checked, err)
	}
	m.Streams[0].Volumes[0].SHA256 = strings.Repeat("0", 64)
	if _, err := a.VerifyBytes(t.Context(), m); err == nil || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("other bytes: %v", err)
	}
}

func TestBriefReason(t *testing.T) {
	long := Brief(strings.Repeat("é", 400) + "\x1b[2J")
	if len(long) > mostReason || !utf8.ValidString(long) || !strings.HasSuffix(long, "...") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
	if got := Brief(" a\n\tb\x1bc "); got != "a b?c" {
		t.Errorf("%q", got)
	}
}
