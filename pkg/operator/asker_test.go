package operator

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestAskersTakeTurns: however many are refused, one of them is tried in
// that time; all of them once one of them could be started.
func TestAskersTakeTurns(t *testing.T) {
	t.Parallel()
	m, now := &tracker{}, time.Now()
	for i, uid := range []types.UID{"a", "b", "c", "a"} {
		m.turnDown(uid, errors.New("no"), now)
		if want := time.Duration(min(i+1, 3)) * refusedFor; m.askers[uid].until != now.Add(want) {
			t.Errorf("%d: %s is left alone for %s, want %s", i, uid, m.askers[uid].until.Sub(now), want)
		}
	}
	m.hope()
	for uid, a := range m.askers {
		if !a.until.IsZero() || a.refused == nil {
			t.Errorf("%s: %+v", uid, a)
		}
	}
	m.only(map[types.UID]bool{"b": true})
	if len(m.askers) != 1 || m.askers["b"].refused == nil {
		t.Errorf("%+v", m.askers)
	}
}
