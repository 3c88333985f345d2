//go:build linux

package valkey

import (
	"os"
	"strconv"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestResume stops a replica in order, and starts it again after the primary went on: it receives what it lacks and no
// copy of all data, unless the file that it wrote is not there any more.
func TestResume(t *testing.T) {
	t.Parallel()
	follow := protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"}
	for name, c := range map[string]struct {
		between func(*testing.T, *place)
		copied  bool
	}{
		"at once": {func(*testing.T, *place) {}, false},
		"after it ran without a primary": {func(_ *testing.T, m2 *place) {
			m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
		}, false},
		"the file is gone": {func(t *testing.T, m2 *place) {
			if err := os.Remove(dump(m2.data())); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m1, m2 := pair(t)
			for i := range 100 {
				m1.command("SET", strconv.Itoa(i), "x")
			}
			m2.reaches(m1)
			m2.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
			if err := m2.Close(); err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				m1.command("SET", "later"+strconv.Itoa(i), "x")
			}
			m2 = s.open("m2")
			c.between(t, m2)
			before := m2.standby()
			m2.Must(follow)
			m2.reaches(m1)
			if copied := m2.standby() != before; copied != c.copied {
				t.Errorf("all data was copied: %t, want %t", copied, c.copied)
			}
			m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: protocol.SyncSet{
				Version: 2, Standbys: []protocol.Standby{m2.standby()}, Need: 1,
			}})
			if got := m1.confirmed("confirmed", "5000"); got != "1" {
				t.Errorf("%s replicas acknowledge", got)
			}
			// All of it is in the append-only files: a server that crashes reads nothing else.
			held := m2.Observe(t.Context()).Position
			if err := m2.StopNow(); err != nil {
				t.Fatal(err)
			}
			o := m2.Must(protocol.Job{
				Kind: protocol.Cut, Generation: 2, Settings: protocol.Settings{Durability: protocol.Async},
			})
			if got := m2.command("DBSIZE"); got != "202" {
				t.Errorf("it holds %s keys after a crash", got)
			}
			if o.Position.Timeline != held.Timeline {
				t.Errorf("it held %s, and reports %s", held, o.Position)
			}
		})
	}
}
