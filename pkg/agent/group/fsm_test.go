package group

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestHurry: members learn at once of what changes something, and of a renewal that comes late. The next renewal tells
// of one in time.
func TestHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hurried := 0
		m := &machine{deliver: func(protocol.Event) {}, hurry: func() { hurried++ }}
		m.document.Phase, m.document.Settings.Timing = protocol.Serving, protocol.DefaultTiming()
		for i, c := range []struct {
			after time.Duration
			entry protocol.Entry
			want  int
		}{
			{0, &protocol.Renew{}, 1}, // the first that this one sees
			{time.Second, &protocol.Renew{}, 0},
			{time.Second, &protocol.Renew{}, 0},
			{3 * time.Second, &protocol.Renew{}, 1},
			{time.Second, &protocol.Renew{}, 0},
			{0, &protocol.StartHold{}, 1},
		} {
			time.Sleep(c.after)
			hurried = 0
			_ = m.apply(uint64(i+1), c.entry) // the document refuses it
			if hurried != c.want {
				t.Errorf("entry %d: told at once %d times, want %d", i, hurried, c.want)
			}
		}
	})
}
