//go:build e2e

package etcd

import (
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// deployed is an operator that is started again when it ends, as a Deployment would have it. It ends when it can't
// renew its lease, and when no API server answers at its start.
type deployed struct {
	mu       sync.Mutex
	running  *harness.Process
	stopping bool
	done     chan harness.Result
	// restarts counts how often it was started again.
	restarts int
}

func (s *scene) deployed() *deployed {
	s.Helper()
	d := &deployed{running: s.operating(), done: make(chan harness.Result, 1)}
	go func() {
		for {
			r, err := d.current().Wait()
			d.mu.Lock()
			over := err != nil || d.stopping || strings.Contains(r.Stderr, "panic: ")
			d.mu.Unlock()
			if over {
				d.done <- r
				return
			}
			s.Logf("the operator ended: %s", r.Stderr[strings.LastIndex(strings.TrimSpace(r.Stderr), "\n")+1:])
			time.Sleep(time.Second) // as a kubelet waits before it starts a container again
			if !d.again(s) {
				d.done <- r
				return
			}
		}
	}()
	return d
}

// again starts it, unless it was to end meanwhile.
func (d *deployed) again(s *scene) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping {
		return false
	}
	d.restarts++
	d.running = s.operating()
	return true
}

func (d *deployed) current() *harness.Process {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

// stop ends it in order.
func (d *deployed) stop() harness.Result {
	d.mu.Lock()
	d.stopping = true
	_ = d.running.Signal(os.Interrupt) // it may have ended: the result tells
	d.mu.Unlock()
	return <-d.done
}
