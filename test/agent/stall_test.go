package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// disk gives a member a volume of its own, whose writes can be made to hang.
func (m *member) disk() error {
	image := m.directory + ".image"
	for _, c := range [][]string{
		{"truncate", "-s", "1G", image}, {"mkfs.ext4", "-q", image}, {"mkdir", "-m", "700", m.directory},
		{"mount", "-o", "loop", image, m.directory},
		{"rm", "-rf", m.directory + "/lost+found"},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", c, err, out)
		}
	}
	return nil
}

// stall has all writes to the volume of a member hang, and returns what ends that. It ends by itself after a while,
// also where the test is killed.
func (s *story) stall(m *member) (end func()) {
	s.t.Helper()
	late := exec.Command("sh", "-c", `sleep 100; exec fsfreeze -u "$0"`, m.directory)
	late.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := late.Start(); err != nil {
		s.t.Fatal(err)
	}
	thawed := false
	end = func() {
		if thawed {
			return
		}
		thawed = true
		if out, err := exec.Command("fsfreeze", "-u", m.directory).CombinedOutput(); err != nil {
			s.t.Errorf("end the stall: %v: %s", err, out)
		}
		_ = syscall.Kill(-late.Process.Pid, syscall.SIGKILL)
		_ = late.Wait()
	}
	s.t.Cleanup(end)
	if out, err := exec.Command("fsfreeze", "-f", m.directory).CombinedOutput(); err != nil {
		s.t.Fatalf("stall the disk of %s: %v: %s", m.id, err, out)
	}
	return end
}

// leader returns the member that leads the group.
func (s *story) leader() (l *member) {
	s.t.Helper()
	s.wait("a leader of the group", func() bool {
		for _, m := range s.members {
			if st := m.status(); st != nil && st.Leader == m.id && st.Quorum {
				l = m
				return true
			}
		}
		return false
	})
	return l
}

// TestDiskStalls has the disk of a member hang: of the one that leads the group, of the primary, and of one that is
// both. A primary elsewhere goes on; one whose disk hangs is replaced, and acknowledges nothing once its disk works.
func TestDiskStalls(t *testing.T) {
	if !torture() && !*allFlag {
		t.Skip("-all is not set")
	}
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount a volume")
	}
	for _, d := range []protocol.Durability{protocol.Strict, protocol.Preferred, protocol.Async} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := begin(t, options{durability: d, members: 3, disks: true, slow: true}, *seedFlag)
			for range 2 {
				s.make(trouble{"the disk of the leader hangs", func(s *story) { s.stallOther(s.apart()) }})
				s.make(trouble{"the disk of the primary hangs", func(s *story) { s.apart(); s.stallPrimary() }})
				s.make(trouble{"the disk of the primary, which leads the group, hangs", func(s *story) {
					s.both()
					s.stallPrimary()
				}})
			}
			s.clients.check(t)
		})
	}
}

// to has a member become the primary.
func (s *story) to(m *member) {
	s.t.Helper()
	if s.awaitPrimary() == m {
		return
	}
	if err := s.ask(m, func(ctx context.Context, c *api.Client) error {
		return c.Switchover(ctx, api.Switchover{Target: m.id, Why: "test"})
	}); err != nil {
		s.t.Fatal(err)
	}
	s.wait("whole", s.whole)
}

// apart has another one than the leader of the group be the primary, and returns the leader.
func (s *story) apart() *member {
	s.t.Helper()
	for range 5 {
		l := s.leader()
		if s.awaitPrimary() != l {
			return l
		}
		s.to(s.replicas(l)[0])
	}
	s.t.Fatal("the primary always leads the group")
	return nil
}

// both has the leader of the group be the primary.
func (s *story) both() {
	s.t.Helper()
	for range 5 {
		l := s.leader()
		s.to(l)
		if s.leader() == l {
			return
		}
	}
	s.t.Fatal("the primary never leads the group")
}

// stallOther hangs the disk of a member that is not the primary.
func (s *story) stallOther(m *member) {
	s.t.Helper()
	p := s.awaitPrimary()
	g := p.known().Generation
	end := s.stall(m)
	time.Sleep(3 * s.lease())
	if !p.leads(g) {
		s.t.Errorf("%s does not lead any more:\n%s", p.id, s.describe())
	}
	end()
	s.again()
}

// stallPrimary hangs the disk of the primary for longer than it takes to replace it.
func (s *story) stallPrimary() {
	s.t.Helper()
	p := s.awaitPrimary()
	began := time.Now()
	end := s.stall(p)
	s.leaving(p)
	timing := s.settings.Timing
	if took, most := time.Since(began), timing.ProbeAge+timing.Lease+4*time.Second; took > most {
		s.t.Errorf("it was replaced after %s, which may take %s", took, most)
	}
	time.Sleep(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	end()
}
