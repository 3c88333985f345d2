package agent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// library is a program that writes by a client library of others.
type library struct {
	t      *testing.T
	errors bytes.Buffer

	mu    sync.Mutex
	acked []int
	last  time.Time
	// gap is the longest time between two acknowledgements since it was asked for.
	gap time.Duration
}

// library starts a client with its options, which writes to a set. It ends with the test.
func (s *site) library(t *testing.T, name, set string, options map[string]any) *library {
	t.Helper()
	authority, err := os.ReadFile(s.authority.files(t, t.TempDir()+"/tls", "client")["authority"])
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]any{"username": "app", "password": password, "sentinelUsername": "app",
		"sentinelPassword": password}
	maps.Copy(given, options)
	input, err := json.Marshal(map[string]any{"library": name, "set": set, "authority": string(authority),
		"options": given})
	if err != nil {
		t.Fatal(err)
	}
	l := &library{t: t, last: time.Now()}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/client.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+os.Getenv("DBOP_CLIENT_LIBRARIES"))
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &l.errors
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go l.read(out)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return l
}

func (l *library) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		n, _ := strconv.Atoi(lines.Text())
		l.mu.Lock()
		l.acked = append(l.acked, n)
		l.gap, l.last = max(l.gap, time.Since(l.last)), time.Now()
		l.mu.Unlock()
	}
}

// goesOn waits for more acknowledgements, and returns all with the longest gap since the last call.
func (l *library) goesOn(s *site, what string) ([]int, time.Duration) {
	l.t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.acked)
	}
	before := count()
	s.wait(what+": clients write", func() bool { return count() > before+20 })
	l.mu.Lock()
	defer l.mu.Unlock()
	gap := l.gap
	l.gap = 0
	return slices.Clone(l.acked), gap
}

// TestClientLibraries: clients of others, by Sentinel and plain, go on after a switchover, which loses nothing, and
// after a failover.
func TestClientLibraries(t *testing.T) {
	if os.Getenv("DBOP_CLIENT_LIBRARIES") == "" {
		t.Skip("DBOP_CLIENT_LIBRARIES names no directory with ioredis and iovalkey: make torture ENGINE=valkey has them")
	}
	for _, name := range []string{"ioredis", "iovalkey"} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}, proxied: true}, 1)
			var agents []map[string]any
			for _, m := range s.members {
				agents = append(agents, map[string]any{"host": "127.0.0.1", "port": m.sentinel})
			}
			clients := map[string]*library{
				"sentinel": s.library(t, name, "sentinel", map[string]any{"sentinels": agents, "name": "db"}),
				"plain":    s.library(t, name, "plain", map[string]any{"host": "127.0.0.1", "port": s.members[0].clients}),
			}
			safe := map[string][]int{}
			all := func(what string) {
				for mode, c := range clients {
					acked, gap := c.goesOn(s.site, mode+", "+what)
					safe[mode] = acked
					t.Logf("%s, %s: no write was acknowledged for %s", mode, what, gap.Round(time.Millisecond))
				}
			}
			all("it writes")
			p := s.awaitPrimary()
			if err := s.ask(p, func(ctx context.Context, c *api.Client) error {
				return c.Switchover(ctx, api.Switchover{Target: s.replicas(p)[0].id})
			}); err != nil {
				t.Fatal(err)
			}
			all("a switchover")
			s.wait("all stream", s.whole)
			p = s.awaitPrimary()
			p.strike(p.first, syscall.SIGKILL)
			replicated := maps.Clone(safe)
			all("the server of the primary is killed")
			s.again()
			s.wait("all stream", s.whole)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			session, err := valkey{}.dialPort(ctx, s.awaitPrimary(), s.awaitPrimary().port)
			if err != nil {
				t.Fatal(err)
			}
			defer session.close()
			for set, acked := range replicated {
				held, err := session.(*redisSession).do(ctx, "SMEMBERS", set)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range acked {
					if !slices.Contains(held, strconv.Itoa(n)) {
						t.Errorf("%s: %d was acknowledged and replicated, and is lost", set, n)
					}
				}
				t.Logf("%s: %d writes were acknowledged before the failover", set, len(acked))
			}
			s.clients.check(t)
		})
	}
}
