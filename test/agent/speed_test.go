package agent

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

var speedFlag = flag.Bool("speed", false, "compare the way through an agent with HAProxy and with none")

const (
	speedRounds = 3
	speedTime   = "3"
	// leastSpeed is the part of the throughput through HAProxy that comes through an agent.
	leastSpeed = 0.95
)

// TestSpeed runs pgbench against the server, through HAProxy, and through the agent beside the server, one after the
// other, some times. It runs where DBOP_TORTURE is all, or -speed is set: nothing else may run.
func TestSpeed(t *testing.T) {
	if !torture() && !*speedFlag {
		t.Skip("-speed is not set")
	}
	s := newSite(t, options{durability: protocol.Async, members: 1})
	s.wait("a primary", func() bool { return s.primary() != nil })
	m := s.members[0]
	if err := s.engine.prepare(m); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ask("dbop", time.Minute, "GRANT ALL ON SCHEMA public TO app"); err != nil {
		t.Fatal(err)
	}
	ways := []string{"direct", "haproxy", "agent"}
	ports := map[string]int{"direct": m.port, "haproxy": s.haproxy(m), "agent": m.clients}
	s.pgbench(m.port, "-i", "-q", "-s", "10")
	for _, load := range []struct{ name, option string }{{"read only", "-bselect-only"}, {"TPC-B", "-btpcb-like"}} {
		got := map[string][]float64{}
		for range speedRounds {
			for _, way := range ways {
				got[way] = append(got[way], s.pgbench(ports[way], "-n", load.option, "-c", "8", "-j", "1", "-T", speedTime))
			}
		}
		median := func(way string) float64 {
			slices.Sort(got[way])
			return got[way][speedRounds/2]
		}
		ratio := median("agent") / median("haproxy")
		t.Logf("%s: %.0f a second direct, %.0f through HAProxy, %.0f through the agent: %.2f of HAProxy", load.name,
			median("direct"), median("haproxy"), median("agent"), ratio)
		if ratio < leastSpeed {
			t.Logf("that is below %.2f", leastSpeed)
		}
	}
}

// pgbench returns transactions a second.
func (s *site) pgbench(port int, args ...string) float64 {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(programs(s.t), "pgbench"), append(args, "-h", "127.0.0.1", "-p", strconv.Itoa(port),
		"-U", "app", "postgres")...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "PGSSLMODE=disable")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("pgbench %v: %v: %s", args, err, out)
	}
	found := regexp.MustCompile(`tps = ([0-9.]+)`).FindStringSubmatch(string(out))
	if found == nil {
		return 0
	}
	tps, _ := strconv.ParseFloat(found[1], 64)
	return tps
}

// haproxy runs Debian's HAProxy in front of a server, and returns its port.
func (s *site) haproxy(m *member) int {
	s.t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		s.t.Skip("HAProxy is not installed")
	}
	port := freePorts(s.t, 1)[0]
	path := filepath.Join(s.dir, "haproxy.cfg")
	config := strings.Join([]string{
		"defaults", " mode tcp", " timeout connect 5s", " timeout client 1h", " timeout server 1h",
		"listen postgres", fmt.Sprintf(" bind 127.0.0.1:%d", port), fmt.Sprintf(" server m1 127.0.0.1:%d", m.port), "",
	}, "\n")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program, "-db", "-f", path)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.wait("HAProxy listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		return err == nil && c.Close() == nil
	})
	return port
}
