//go:build linux

package valkey

import (
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/drivertest"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestDrain stops a primary whose replica acknowledges nothing. It waits for that, unless the agent of the replica told
// that it holds everything.
func TestDrain(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]uint64{"told": math.MaxUint64, "not told": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m1, m2 := pair(t)
			m1.Told = func(id protocol.MemberID) protocol.Position {
				if id != "m2" {
					t.Errorf("it asks for %s", id)
				}
				return protocol.Position{Timeline: 2, Offset: told}
			}
			for _, pid := range drivertest.RunningIn(m2.Directory()) {
				_ = syscall.Kill(pid, syscall.SIGSTOP)
				defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
			}
			m1.command("SET", "b", "1")
			began := time.Now()
			m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
			took := time.Since(began)
			if waited := took >= drainTime; waited == (told > 0) {
				t.Errorf("it took %s", took)
			}
		})
	}
}
