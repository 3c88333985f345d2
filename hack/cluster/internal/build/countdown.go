package build

import (
	"fmt"
	"sync"
	"time"
)

// perSecond is how many packages 2 cores compile in a second: the mean of a
// first build. It serves until this build has a speed of its own.
const perSecond = 5.5

// settled is after how many packages the speed of this build is believed.
const settled = 150

// countdown tells how long a build still takes, by packages compiled and
// packages recorded for its targets. It is safe for concurrent use.
type countdown struct {
	mu    sync.Mutex
	start time.Time
	total int
	done  map[string]int
}

// newCountdown starts the clock.
func newCountdown(targets []Target) *countdown {
	c := &countdown{start: time.Now(), done: map[string]int{}}
	for _, target := range targets {
		c.total += target.packages
	}
	return c
}

// compiled counts one package of a target.
func (c *countdown) compiled(t Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// More than recorded would promise an end that has passed.
	c.done[t.Name] = min(c.done[t.Name]+1, t.packages)
}

// finish counts what was in the build cache already.
func (c *countdown) finish(t Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[t.Name] = t.packages
}

// String says what is done and about how long the rest takes.
func (c *countdown) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := 0
	for _, n := range c.done {
		done += n
	}
	// What is in the build cache of go is not compiled again, and nothing tells how much that is.
	speed, left := perSecond, "at most"
	if done >= settled {
		left = "about"
		speed = float64(done) / time.Since(c.start).Seconds()
	}
	rest := time.Duration(float64(c.total-done) / speed * float64(time.Second))
	return fmt.Sprintf("%d of about %d packages compiled, %s %s left", done, c.total, left, about(rest))
}

// about rounds to what such a guess is worth.
func about(d time.Duration) string {
	if d < 90*time.Second {
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", int((d + time.Minute - 1).Minutes()))
}
