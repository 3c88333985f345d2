//go:build e2e

package etcd

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// leaveWithin is how long the tool may take to leave when told twice.
const leaveWithin = 3 * time.Second

// TestInterrupt presses Ctrl-C once, and twice, in the middle of an operation.
// Either way the same command continues.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		times int
	}{{"once", 1}, {"twice", 2}} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, "interrupt", "my-db")
			s.create("my-db", "3.6", "1")
			args := []string{"scale", "my-db", "--members", "3", "--progress", "plain"}
			p, err := s.cli.Start(s.ctx, inNamespace(s.ns, args)...)
			s.ok(err)
			s.ok(untilSaid(s.ctx, p, "my-db-2"))
			s.ok(p.Signal(os.Interrupt))
			if c.times == 2 {
				s.ok(untilSaid(s.ctx, p, "Ctrl-C again"))
				// It may have reached a safe point and left before the second signal.
				if err := p.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
					s.ok(err)
				}
			}
			told := time.Now()
			r, err := p.Wait()
			s.ok(err)
			s.judge(r, 130)
			if took := time.Since(told); c.times == 2 && took > leaveWithin {
				t.Errorf("told twice, it took %s to leave", took)
			}
			t.Logf("left %s after the signal", time.Since(told).Round(time.Millisecond))
			s.must(args...)
			s.healthy("my-db", 3)
		})
	}
}

// untilSaid waits until a program has said something on stderr.
func untilSaid(ctx context.Context, p *harness.Process, words string) error {
	return harness.Until(ctx, podWithin, "the tool to say "+words, func(context.Context) error {
		if !strings.Contains(p.Stderr(), words) {
			return errors.New("it says:\n" + p.Stderr())
		}
		return nil
	})
}

// TestCancel steps back from an operation that was killed in the middle.
func TestCancel(t *testing.T) {
	s := newScene(t, "cancel", "my-db")
	s.create("my-db", "3.6", "3")
	r := s.with(s.mortal("after:register-member"), "scale", "my-db", "--members", "5")
	if r.Signal != syscall.SIGKILL {
		t.Fatalf("it did not die:\n%s", r)
	}
	if r := s.try("status", "my-db"); !strings.Contains(r.Stdout, "scale") {
		t.Errorf("status does not tell of the operation in flight:\n%s", r)
	}
	s.must("cancel", "my-db")
	s.healthy("my-db", 3)
	s.settledVolumes("my-db", 3)
	s.says(s.must("history", "my-db"), "Cancelled")

	s.with(s.mortal("after:register-member"), "scale", "my-db", "--members", "5")
	s.must("resume", "my-db")
	s.healthy("my-db", 5)
}
