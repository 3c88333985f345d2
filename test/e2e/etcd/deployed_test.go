//go:build e2e

package etcd

import (
	"os"
	"strings"
	"sync"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// deployed is an operator that is started again when it ends because it could not renew its lease, as a Deployment
// would have it.
type deployed struct {
	mu       sync.Mutex
	running  *harness.Process
	stopping bool
	done     chan harness.Result
	// Restarts counts how often it was started again.
	restarts int
}

func (s *scene) deployed() *deployed {
	s.Helper()
	d := &deployed{running: s.operating(), done: make(chan harness.Result, 1)}
	go func() {
		for {
			r, err := d.current().Wait()
			d.mu.Lock()
			if err != nil || d.stopping || !strings.Contains(r.Stderr, "leader election lost") {
				d.mu.Unlock()
				d.done <- r
				return
			}
			d.restarts++
			d.running = s.operating()
			d.mu.Unlock()
		}
	}()
	return d
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
