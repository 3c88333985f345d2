//go:build linux

package guard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestMain lets the test binary be a guard, and an agent below it: a guard needs processes of its own.
func TestMain(m *testing.M) {
	switch os.Getenv("DBOP_GUARD_TEST") {
	case "guard":
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		_ = os.Setenv("DBOP_GUARD_TEST", "agent")
		g := &Guard{Command: []string{os.Args[0]}, Log: os.Stderr}
		if err := g.Run(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "agent":
		agent()
	default:
		os.Exit(m.Run())
	}
}

// agent starts a server with two processes, of which the first ends, as a postmaster that was killed. It has a deadline
// half a second from now, unless it is started again.
func agent() {
	directory := os.Getenv("DBOP_GUARD_DIRECTORY")
	backend := exec.Command("sh", "-c", `(setsid sleep 1000 & echo $! > "$DBOP_GUARD_DIRECTORY/backend.$$"); exit 0`)
	starts, _ := filepath.Glob(filepath.Join(directory, "backend.*"))
	if len(starts) > 0 {
		_ = os.WriteFile(filepath.Join(directory, "again"), nil, 0o600)
		time.Sleep(time.Hour)
	}
	if err := backend.Run(); err != nil {
		panic(err)
	}
	c := Dial()
	at := Now().Add(500 * time.Millisecond)
	switch os.Getenv("DBOP_GUARD_CASE") {
	case "deadline", "frozen":
		if err := c.Set(protocol.SetDeadline{At: at}); err != nil {
			panic(err)
		}
	case "disarmed":
		if err := errors.Join(c.Set(protocol.SetDeadline{At: at}),
			c.Set(protocol.SetDeadline{Unlimited: true})); err != nil {
			panic(err)
		}
	case "ends":
		return
	}
	_ = os.WriteFile(filepath.Join(directory, "ready"), []byte(strconv.FormatInt(int64(at), 10)), 0o600)
	if os.Getenv("DBOP_GUARD_CASE") == "frozen" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	time.Sleep(time.Hour)
}

func exists(directory, pattern string) string {
	found, _ := filepath.Glob(filepath.Join(directory, pattern))
	if len(found) == 0 {
		return ""
	}
	raw, _ := os.ReadFile(found[0])
	return strings.TrimSpace(string(raw)) + " "
}

func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		kills bool
	}{{"deadline", true}, {"frozen", true}, {"ends", true}, {"disarmed", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			guard := exec.Command(os.Args[0])
			guard.Env = append(os.Environ(), "DBOP_GUARD_TEST=guard", "DBOP_GUARD_CASE="+c.name,
				"DBOP_GUARD_DIRECTORY="+directory)
			var said bytes.Buffer
			guard.Stderr = io.MultiWriter(&said, t.Output())
			if err := guard.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t, "the server", func() bool { return exists(directory, "backend.*") > " " })
			pid, err := strconv.Atoi(strings.TrimSpace(exists(directory, "backend.*")))
			if err != nil {
				t.Fatal(err)
			}
			if c.kills {
				wait(t, "the agent starts again", func() bool { return exists(directory, "again") != "" })
				if alive(pid) {
					t.Error("a process of the server outlives the lease")
				}
			} else {
				wait(t, "the agent", func() bool { return exists(directory, "ready") > " " })
				time.Sleep(700 * time.Millisecond)
				if !alive(pid) || exists(directory, "again") != "" {
					t.Error("the guard kills what has no deadline")
				}
			}
			if err := errors.Join(guard.Process.Signal(syscall.SIGTERM), guard.Wait()); err != nil {
				t.Errorf("stop the guard: %v", err)
			}
			if alive(pid) {
				t.Error("a process is left after the guard")
			}
			if begins := strings.Count(said.String(), "starts again"); begins > 0 != c.kills {
				t.Errorf("it says %d times that the agent starts again: %s", begins, &said)
			}
		})
	}
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	child := exec.Command("sleep", "100")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(child.Process.Kill(), child.Wait()) }()
	found := false
	for _, pid := range descendants(os.Getpid()) {
		found = found || pid == child.Process.Pid
	}
	if !found {
		t.Error("a child is not found")
	}
}

// TestOthersWhileTheGuardEnds has the guard give this process away while its processes are listed.
func TestOthersWhileTheGuardEnds(t *testing.T) {
	server := exec.Command("sleep", "1000")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	ended := 1 << 30 // no process has this number
	for name, parents := range map[string][]int{
		"it ended before": {1}, "it ends meanwhile": {ended, 1}, "it is there": {os.Getpid(), os.Getpid()},
	} {
		asked := 0
		c := &Client{pid: parents[0], parent: func() int {
			asked++
			return parents[asked-1]
		}}
		if name == "it ended before" {
			c.pid = ended
		}
		if got := c.Others(); !slices.Contains(got, server.Process.Pid) {
			t.Errorf("%s: the others are %v, without the server %d", name, got, server.Process.Pid)
		}
	}
}

// TestOrphan is an agent whose guard ended before it was asked for: its parent is then the first process of the
// machine, which is no guard.
func TestOrphan(t *testing.T) {
	server := exec.Command("sleep", "1000")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = errors.Join(server.Process.Kill(), server.Wait()) }()
	for named, want := range map[string]int{"": nobody, "x": nobody, "1073741824": 1 << 30} {
		t.Setenv(pidVariable, named)
		c := &Client{pid: guardPID(), parent: func() int { return 1 }}
		if c.pid != want {
			t.Errorf("with %q the guard is %d, not %d", named, c.pid, want)
		}
		if got := c.Others(); !slices.Equal(got, []int{server.Process.Pid}) {
			t.Errorf("with %q the others are %v, not %d alone", named, got, server.Process.Pid)
		}
	}
}

// TestSilentGuard has a guard answer once, and then no more: who asks is told while there is time to end the server.
// One that answers late, but does, is none that hangs.
func TestSilentGuard(t *testing.T) {
	t.Parallel()
	for _, answers := range []int{1, 0} {
		ours, theirs := net.Pipe()
		c := newClient(nobody, ours)
		go func() {
			asked := 0
			for s := bufio.NewScanner(theirs); s.Scan(); asked++ {
				if asked < answers {
					_, _ = io.WriteString(theirs, "ok\n")
				}
			}
		}()
		deadline := Now().Add(killTime + 200*time.Millisecond)
		for range answers {
			if err := c.Set(protocol.SetDeadline{At: deadline}); err != nil {
				t.Error(err)
			}
		}
		err := c.Set(protocol.SetDeadline{At: deadline.Add(time.Duration(answers) * time.Hour)})
		if left := deadline.Sub(Now()); err == nil || left < killTime/4 {
			t.Errorf("after %d answers %s are left for the server's end: %v", answers, left, err)
		}
		_, _ = ours.Close(), theirs.Close()
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	defer ours.Close()
	go func() {
		for s := bufio.NewScanner(theirs); s.Scan(); {
			time.Sleep(killTime / 4)
			_, _ = io.WriteString(theirs, "ok\n")
		}
	}()
	c := newClient(nobody, ours)
	for range 2 {
		if err := c.Set(protocol.SetDeadline{At: Now()}); err != nil {
			t.Error(err)
		}
	}
}
