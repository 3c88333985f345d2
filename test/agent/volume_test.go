package agent

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// refused waits until the agents say why a member takes no part.
func (s *story) refused(m *member, why string) {
	s.t.Helper()
	s.wait("a notice about "+string(m.id), func() bool {
		for _, o := range s.members {
			st := o.status()
			if st != nil && (strings.Contains(st.Blocked, why) || slices.ContainsFunc(st.Notices, func(n api.Notice) bool {
				return strings.Contains(n.Text, why)
			})) {
				return true
			}
		}
		return false
	})
}

// replace adds a spare member, and removes another one whose data is gone or old.
func (s *story) replace(m *member) {
	s.t.Helper()
	next := s.spare[0]
	p := s.awaitPrimary()
	began := time.Now()
	if err := s.ask(p, func(ctx context.Context, c *api.Client) error {
		return c.AddMember(ctx, api.NewMember{ID: next.id})
	}); err != nil {
		s.t.Fatal(err)
	}
	next.start()
	s.spare, s.members = s.spare[1:], append(s.members, next)
	s.wait(string(next.id)+" streams", func() bool {
		st := p.status()
		return st != nil && slices.ContainsFunc(st.Server.Standbys, func(b protocol.Streaming) bool {
			return b.Member == next.id
		})
	})
	if err := s.ask(p, func(ctx context.Context, c *api.Client) error { return c.RemoveMember(ctx, m.id) }); err != nil {
		s.t.Fatal(err)
	}
	m.kill()
	s.members = slices.DeleteFunc(s.members, func(o *member) bool { return o == m })
	s.gone = append(s.gone, m)
	s.wait("whole with "+string(next.id), s.whole)
	s.wait("three votes", func() bool {
		st := p.status()
		return st != nil && len(slices.DeleteFunc(st.Members, func(m api.Member) bool { return !m.Voter })) == 3
	})
	s.t.Logf("%s replaced %s after %s", next.id, m.id, time.Since(began).Truncate(10*time.Millisecond))
}

// TestVolumes gives members an empty volume and an old one. Neither takes part under its name, and nothing is lost.
func TestVolumes(t *testing.T) { loseVolumes(t, postgres{}) }

// TestVolumesValkey does the same with Valkey or Redis.
func TestVolumesValkey(t *testing.T) { loseVolumes(t, valkey{}) }

func loseVolumes(t *testing.T, e engine) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: e}, 1)
	time.Sleep(time.Second)
	p := s.awaitPrimary()
	p.kill()
	if err := os.RemoveAll(p.directory); err != nil {
		t.Fatal(err)
	}
	p.start()
	s.leaving(p)
	s.refused(p, "its volume was emptied or rolled back")
	if st := p.status(); st != nil && (st.System != "" || st.Server.Volume != "") {
		t.Errorf("a member with an empty volume knows the database %s, and has the copy %s", st.System, st.Server.Volume)
	}
	s.replace(p)

	old := s.replicas(s.awaitPrimary())[0]
	old.kill()
	copyTree(t, old.directory, old.directory+".old")
	old.start()
	s.wait("whole again", s.whole)
	time.Sleep(time.Second)
	old.kill()
	if err := os.RemoveAll(old.directory); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old.directory+".old", old.directory); err != nil {
		t.Fatal(err)
	}
	old.start()
	s.refused(old, "its volume was")
	s.replace(old)
	s.clients.check(t)
}

// copyTree copies a volume while nothing runs on it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}
