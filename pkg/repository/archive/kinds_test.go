package archive

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestDamagedBeside flips a byte of, cuts and removes each object that is neither manifest nor data nor log: what says
// who writes, what is done of it, what was proven and what is held. The backup beside is read as before, a damaged
// proof proves nothing, a damaged hold holds, and the interrupted backup goes on, begins again, or is refused.
func TestDamagedBeside(t *testing.T) {
	keys, _ := testKeys(t)
	whole := directory(t)
	a := Open(whole, keys)
	body := pages(5 << 20)
	m := mustSave(t, a, "old", body)
	mustSave(t, a, "new", pages(100))
	if err := a.AddProof(t.Context(), m, Proof{Level: LevelIntact}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Hold(t.Context(), find(t, a, "old"), time.Hour, "test"); err != nil {
		t.Fatal(err)
	}
	marks := 0
	f := &storetest.Fault{Store: whole, Before: func(c storetest.Call) error {
		if isMark(c) {
			if marks++; marks > 1 {
				return storetest.ErrFault
			}
		}
		return nil
	}}
	half := request("half", "op-half", "file")
	if _, err := save(t, Open(f, keys), half, body); !errors.Is(err, storetest.ErrFault) {
		t.Fatal(err)
	}
	objects, tried := contents(t, whole), map[string]int{}
	for key, content := range objects {
		kind, _, _ := strings.Cut(key, "/")
		if kind == kindManifest || kind == kindData {
			continue
		}
		for what, damaged := range damages([]byte(content)) {
			if tried[kind]++; what != "removed" && what != "flipped at the middle" && often(1, 0) == 0 {
				continue
			}
			s := directory(t)
			for k, c := range objects {
				if k != key {
					storetest.Put(t, s, k, c)
				} else if damaged != nil {
					storetest.Put(t, s, k, string(damaged))
				}
			}
			holdsOut(t, Open(s, keys), kind+" "+what, half, body, kind == kindProof, kind == kindHold && damaged == nil)
		}
	}
	for _, kind := range []string{kindAttempt, kindProof, kindHold} {
		if tried[kind] == 0 {
			t.Errorf("there are no %s", kind)
		}
	}
}

// damages are what an object may have become; nil is none.
func damages(content []byte) map[string][]byte {
	out := map[string][]byte{"removed": nil, "empty": {}, "cut": content[:len(content)/2]}
	for name, at := range map[string]int{"first": 0, "middle": len(content) / 2, "last": len(content) - 2} {
		flipped := bytes.Clone(content)
		flipped[at] ^= 1
		out["flipped at the "+name] = flipped
	}
	return out
}

func holdsOut(t *testing.T, a *Archive, what string, half Request, body []byte, proofGone, holdGone bool) {
	t.Helper()
	if got, err := load(t, a, "old"); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%s: the backup: %d bytes, %v", what, len(got), err)
	}
	if p, err := a.BestProof(t.Context(), find(t, a, "old")); err != nil || (p == nil) != proofGone {
		t.Errorf("%s: the proof: %+v, %v", what, p, err)
	}
	_, err := save(t, a, half, body)
	refused := errors.Is(err, ErrSignature) || errors.Is(err, ErrDamaged)
	if err != nil && (!refused || !strings.HasPrefix(what, kindAttempt)) {
		t.Errorf("%s: the repeat: %v", what, err)
	}
	if got, loaded := load(t, a, "half"); err == nil && (loaded != nil || !bytes.Equal(got, body)) ||
		err != nil && !errors.Is(loaded, ErrNotFound) {
		t.Errorf("%s: repeated: %d bytes, %v, after %v", what, len(got), loaded, err)
	}
	if err := a.Remove(t.Context(), find(t, a, "old")); (err == nil) != holdGone {
		t.Errorf("%s: what is held, or was, is deleted: %v", what, err)
	}
}
