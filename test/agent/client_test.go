package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// row is a write that was acknowledged.
type row struct {
	id int
	// history and place are what the server said: each generation has a history of its own.
	history string
	place   uint64
	// timeline is that of the history.
	timeline   uint64
	member     protocol.MemberID
	began, end time.Duration
}

// clients write at every member all the time, each row with another number.
type clients struct {
	site  *site
	began time.Time
	stop  context.CancelFunc
	all   sync.WaitGroup
	// join has clients write at a member that was added.
	join func(*member)

	mu    sync.Mutex
	next  int
	acked []row
	// asked are the rows whose outcome may be anything.
	asked map[int]bool
	// thaws are when members went on after every process of them was frozen.
	thaws []thaw
}

// thaw is when a member went on.
type thaw struct {
	member protocol.MemberID
	at     time.Duration
}

// thaw notes that a member goes on now.
func (c *clients) thaw(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thaws = append(c.thaws, thaw{member: m.id, at: time.Since(c.began)})
}

func (s *site) write() *clients {
	ctx, stop := context.WithCancel(context.Background())
	c := &clients{site: s, began: time.Now(), stop: stop, asked: map[int]bool{}}
	c.join = func(m *member) {
		for range 2 {
			c.all.Go(func() { c.run(ctx, m) })
		}
	}
	for _, m := range s.members {
		c.join(m)
		if s.options.pipelined {
			c.all.Go(func() { c.pipeline(ctx, m) })
		}
	}
	return c
}

// run writes at one member, whether that is the primary or not.
func (c *clients) run(ctx context.Context, m *member) {
	var conn session
	for ctx.Err() == nil {
		if conn == nil {
			dialling, stop := context.WithTimeout(ctx, time.Second)
			var err error
			conn, err = c.site.engine.dial(dialling, m)
			stop()
			if err != nil {
				conn = nil
				// A server that starts makes a process for each of these, only to refuse it.
				pause(ctx, 100*time.Millisecond)
				continue
			}
		}
		if err := c.insert(ctx, m, conn); err != nil {
			if errors.Is(err, errReadOnly) {
				pause(ctx, 50*time.Millisecond)
				continue
			}
			conn.close()
			conn = nil
		}
		pause(ctx, 10*time.Millisecond)
	}
	if conn != nil {
		conn.close()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// insert adds one row.
func (c *clients) insert(ctx context.Context, m *member, conn session) error {
	c.mu.Lock()
	c.next++
	id := c.next
	c.asked[id] = true
	c.mu.Unlock()
	// A client waits as long as it takes; the bound only ends a session that leads nowhere.
	ctx, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	began := time.Since(c.began)
	history, place, err := conn.insert(ctx, id)
	end := time.Since(c.began)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = append(c.acked, row{id: id, history: history, place: place, member: m.id, began: began, end: end})
	return nil
}

// refused says that a member takes no write now.
func (c *clients) refused(m *member) bool {
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	conn, err := c.site.engine.dial(ctx, m)
	if err != nil {
		return true
	}
	defer conn.close()
	return c.insert(ctx, m, conn) != nil
}

// count returns how many rows were acknowledged.
func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// flows waits until rows are acknowledged again, and returns how long that took.
func (c *clients) flows() time.Duration {
	c.site.t.Helper()
	before := c.count()
	return c.site.wait("writes are acknowledged", func() bool { return c.count() > before+3 })
}

// gap returns the longest time between two acknowledgements after a moment.
func (c *clients) gap(since time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ends []time.Duration
	for _, r := range c.acked {
		if r.end >= since {
			ends = append(ends, r.end)
		}
	}
	slices.Sort(ends)
	longest, last := time.Duration(0), since
	for _, e := range ends {
		longest, last = max(longest, e-last), e
	}
	return longest
}
