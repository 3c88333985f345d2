package operator

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// How long a cluster that can't go on is left alone, from the first failure
// to the last; a change of what is wanted ends that at once.
const (
	firstDelay = time.Second
	lastDelay  = 2 * time.Minute
)

// mind is what an operator remembers of one cluster between two reconciles.
// All of it may be lost: it is only about time.
type mind struct {
	// session is the operation in the works; nil for none.
	session *ops.Session
	// failures in a row, the generation and record they were about, and until when to wait.
	failures int
	about    string
	until    time.Time
	// gone is since when the custom resource is missing.
	gone time.Time
	// looked is when the cluster was last looked at without an operation.
	looked time.Time
}

// fail says when to try again.
func (m *mind) fail(now time.Time, about string) time.Duration {
	if m.about != about {
		m.failures, m.about = 0, about
	}
	delay := lastDelay
	if m.failures < 7 {
		delay = min(firstDelay<<m.failures, lastDelay)
	}
	m.failures++
	m.until = now.Add(delay)
	return delay
}

// waits is how long a cluster is still left alone; 0 if what it was about changed.
func (m *mind) waits(now time.Time, about string) time.Duration {
	if m.about != about {
		return 0
	}
	return max(0, m.until.Sub(now))
}

// well forgets failures.
func (m *mind) well() { m.failures, m.about, m.until = 0, "", time.Time{} }

// close ends the session.
func (m *mind) close(ctx context.Context) {
	if m.session != nil {
		_ = m.session.Close(ctx) // the lease expires by itself
		m.session = nil
	}
}

// minds is one mind a cluster.
type minds struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*mind
}

func (s *minds) of(key types.NamespacedName) *mind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.NamespacedName]*mind{}
	}
	m := s.all[key]
	if m == nil {
		m = &mind{}
		s.all[key] = m
	}
	return m
}

func (s *minds) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *minds) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, key)
}
