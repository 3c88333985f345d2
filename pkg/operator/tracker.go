package operator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// How long a cluster that can't go on is left alone, from the first failure
// to the last; a change of what is wanted ends that at once.
const (
	firstDelay = time.Second
	lastDelay  = 2 * time.Minute
	// touchedDelay is the longest pause while its pods or volumes change.
	touchedDelay = 10 * time.Second
)

// tracker is what an operator remembers of one cluster between two reconciles.
// All of it may be lost: it is only about time.
type tracker struct {
	// session is the operation in the works; nil for none.
	session *runner.Session
	// failures in a row, the generation and record they were about, and until when to wait.
	failures int
	about    string
	until    time.Time
	// gone is since when the custom resource is missing.
	gone time.Time
	// linked are the custom resource and the record that were seen together.
	linked pair
	// defined is when the definition was asked for last that a record does not name.
	defined time.Time
	// deleted is a custom resource as it was when it was deleted.
	deleted atomic.Pointer[v1alpha1.DatabaseCluster]
	// askers are the objects that ask for a backup, by UID.
	askers map[types.UID]asker
	// observed is when the cluster was last observed without an operation.
	looked time.Time
	// hindrance is about what is wanted, while a backup is in flight.
	hindrance hindrance
	// touched is set when pods or volumes change: what could not be done may be possible now.
	touched atomic.Bool
	// failed is when it failed last.
	failed time.Time
}

// fail says when to try again.
func (m *tracker) fail(now time.Time, about string) time.Duration {
	if m.about != about {
		m.failures, m.about = 0, about
	}
	delay := lastDelay
	if m.failures < 7 {
		delay = min(firstDelay<<m.failures, lastDelay)
	}
	m.failures++
	m.until, m.failed = now.Add(delay), now
	m.touched.Store(false) // by the try itself, perhaps
	return delay
}

// waits is how long a cluster is still left alone; 0 if what it was about
// changed. Where pods or volumes changed that is not long.
func (m *tracker) waits(now time.Time, about string) time.Duration {
	if m.about != about {
		return 0
	}
	until := m.until
	if soon := m.failed.Add(touchedDelay); m.touched.Load() && soon.Before(until) {
		until = soon
	}
	return max(0, until.Sub(now))
}

// well forgets failures.
func (m *tracker) well() { m.failures, m.about, m.until = 0, "", time.Time{} }

// close ends the session.
func (m *tracker) close(ctx context.Context) {
	if m.session != nil {
		_ = m.session.Close(ctx) // the lease expires by itself
		m.session = nil
	}
}

// trackers is one mind a cluster.
type trackers struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*tracker
}

func (s *trackers) of(key types.NamespacedName) *tracker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.NamespacedName]*tracker{}
	}
	m := s.all[key]
	if m == nil {
		m = &tracker{}
		s.all[key] = m
	}
	return m
}

func (s *trackers) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// touch notes that pods or volumes of a cluster changed.
func (s *trackers) touch(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.all[key]; m != nil {
		m.touched.Store(true)
	}
}

func (s *trackers) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}
