package agent

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// stock is a server as somebody else runs it.
type stock struct {
	t    *testing.T
	dir  string
	port int
	// release is a directory of hack/valkey.sh, more are settings.
	release string
	more    string
	cmd     *exec.Cmd
}

const stockPassword = "stock-password"

func newStock(t *testing.T, release, more string) *stock {
	t.Helper()
	s := &stock{t: t, dir: t.TempDir(), port: freePorts(t, 1)[0], release: release, more: more}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *stock) start() {
	s.t.Helper()
	found, _ := filepath.Glob("/var/cache/dbop-valkey/" + s.release + "/*-server")
	if len(found) == 0 {
		s.t.Fatalf("%s is not there: run hack/valkey.sh", s.release)
	}
	settings := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nrequirepass %s\nappendonly yes\nappendfsync always\n"+
		"repl-diskless-sync-delay 0\n", s.port, s.dir, stockPassword) + s.more
	path := filepath.Join(s.dir, "stock.conf")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(found[0], path)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 200 {
		if c, err := s.dial(s.t.Context()); err == nil {
			c.close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("the stock server does not answer")
}

func (s *stock) kill() {
	if s.cmd != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *stock) dial(ctx context.Context) (*redisSession, error) {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(s.port))
	if err != nil {
		return nil, err
	}
	c := &redisSession{conn: conn, in: bufio.NewReader(conn)}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if got, err := c.do(ctx, "AUTH", stockPassword); err != nil || got[0] != "OK" {
		c.close()
		return nil, fmt.Errorf("log in: %w", err)
	}
	if _, err := c.do(ctx, "GET", "ready"); err != nil && strings.HasPrefix(err.Error(), "LOADING") {
		c.close()
		return nil, err
	}
	return c, nil
}

// acknowledged are rows that a writer was told are written at the source.
type acknowledged struct {
	rows    atomic.Int64
	mu      sync.Mutex
	all     map[int]bool
	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// write adds rows one after the other, whatever becomes of the server.
func (s *stock) write() *acknowledged {
	ctx, stop := context.WithCancel(context.Background())
	a := &acknowledged{all: map[int]bool{}, stop: stop}
	a.stopped.Go(func() {
		var c *redisSession
		for id := 1; ctx.Err() == nil; id++ {
			if c == nil {
				var err error
				if c, err = s.dial(ctx); err != nil {
					c = nil
					time.Sleep(10 * time.Millisecond)
					continue
				}
			}
			asked, done := context.WithTimeout(ctx, 5*time.Second)
			_, err := c.do(asked, "SADD", "rows", strconv.Itoa(id))
			done()
			if err != nil {
				c.close()
				c = nil
				continue
			}
			a.mu.Lock()
			a.all[id] = true
			a.mu.Unlock()
			a.rows.Add(1)
			pause(ctx, time.Millisecond)
		}
	})
	return a
}

func (a *acknowledged) end() {
	a.stop()
	a.stopped.Wait()
}

// lagging returns an address of the server where what it sends to its replicas comes late, and nothing else does.
func (s *stock) lagging(by time.Duration) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			go s.delay(near, by)
		}
	}()
	return l.Addr().String()
}

func (s *stock) delay(near net.Conn, by time.Duration) {
	defer near.Close()
	far, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(s.port))
	if err != nil {
		return
	}
	defer far.Close()
	var replica atomic.Bool
	go func() {
		defer far.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := near.Read(buffer)
			if strings.Contains(string(buffer[:n]), "PSYNC") {
				replica.Store(true)
			}
			if _, failed := far.Write(buffer[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	type part struct {
		at   time.Time
		data []byte
	}
	parts := make(chan part, 1<<16)
	go func() {
		defer near.Close()
		for p := range parts {
			time.Sleep(time.Until(p.at))
			if _, err := near.Write(p.data); err != nil {
				return
			}
		}
	}()
	defer close(parts)
	for {
		buffer := make([]byte, 16<<10)
		n, err := far.Read(buffer)
		at := time.Now()
		if replica.Load() {
			at = at.Add(by)
		}
		parts <- part{at, buffer[:n]}
		if err != nil {
			return
		}
	}
}
