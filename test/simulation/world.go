package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Namespace of every simulated cluster.
const Namespace = "sim"

// tick is the grain at which the world moves by itself.
const tick = 200 * time.Millisecond

// world is one site: a Kubernetes, the databases on it, and the store. It
// moves lazily: the first that reads it lets it catch up with the clock.
type world struct {
	mu     sync.Mutex
	engine engine.Engine
	rng    *rand.Rand

	started, now, next time.Time

	slots    []*slot
	clusters map[string]*objects
	groups   []*group
	backups  map[string]backup
	leases   map[string]*leaseRecord
	records  records
	weather  weather
	// streams are the backups that are taken, by cluster; written is when operations were written down, by name.
	streams map[string]*stream
	written map[string]time.Time
	serial  int

	mischief Mischief
	steps    int
	// expelled are the members that somebody else took from the list, and when.
	expelled map[string]time.Time
	// tally counts how operations and commands ended, to see that the world is no idyll.
	tally  map[string]int
	trace  []string
	broken []string
}

// Mischief are deliberate faults of what carries out a step, to see that the
// checks notice. The planner's own are wrapped around its decision instead.
type Mischief struct {
	// BootstrapJoiners renders joining members as initial members.
	BootstrapJoiners bool
	// EvenVotes has agents give every member a vote, EarlyVotes those that have not joined yet.
	EvenVotes, EarlyVotes bool
	// EmptyProofs takes two proofs that are equal for a proof.
	EmptyProofs bool
	// SourceMisnamed: the record of a backup names a member that it is not taken from.
	SourceMisnamed bool
}

// objects are a cluster's shared objects.
type objects struct {
	certificates, services bool
	budget                 *int32
	// schedule takes backups; by kind, what it consists of.
	schedule map[string]scheduled
	// secrets of users, by user.
	secrets map[string]*secret
	// leaves are certificates, by secret; nil before there is an authority.
	trust  trust
	leaves map[string]*leaf
	// pausedAt is since when a person wants nobody to act.
	pausedAt time.Time
}

// newWorld makes an empty site.
func newWorld(e engine.Engine, seed uint64, m Mischief) *world {
	now := time.Now()
	return &world{
		engine: e, rng: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // reproducible
		started: now, now: now, next: now.Add(tick),
		clusters: map[string]*objects{}, backups: map[string]backup{}, leases: map[string]*leaseRecord{},
		records: newRecords(), mischief: m, tally: map[string]int{}, expelled: map[string]time.Time{},
		streams: map[string]*stream{}, written: map[string]time.Time{},
	}
}

// lock gives access to the world as it is now.
func (w *world) lock() func() {
	w.mu.Lock()
	w.advance(time.Now())
	return w.mu.Unlock
}

func (w *world) advance(now time.Time) {
	for !w.next.After(now) {
		w.now = w.next
		w.next = w.next.Add(tick)
		w.tick()
	}
	w.now = now
}

// tick lets everything that moves by itself move once.
func (w *world) tick() {
	w.blow()
	w.renew()
	for _, s := range w.slots {
		w.reconcile(s)
	}
	w.meet()
	for _, g := range w.groups {
		if g.agreement != nil {
			w.attend(g)
			continue
		}
		w.elect(g)
		w.work(g)
	}
	for name, o := range w.clusters {
		if o.trust.next != 0 {
			w.refusals(name, "by itself")
		}
	}
}

// between draws a duration.
func (w *world) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.rng.Int64N(int64(high-low)))
}

// chance draws a yes.
func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// id returns a number never used before.
func (w *world) id() int {
	w.serial++
	return w.serial
}

func (w *world) shared(cluster string) *objects {
	o := w.clusters[cluster]
	if o == nil {
		o = &objects{}
		w.clusters[cluster] = o
	}
	return o
}

// logf adds a line to the trace.
func (w *world) logf(format string, args ...any) {
	line := fmt.Sprintf("%9.3fs ", w.now.Sub(w.started).Seconds()) + fmt.Sprintf(format, args...)
	w.trace = append(w.trace, line)
	if len(w.trace) > 4000 {
		w.trace = slices.Clone(w.trace[2000:])
	}
}

// violate notes that something happened that must never happen.
func (w *world) violate(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.logf("VIOLATION: %s", line)
	w.broken = append(w.broken, line)
}

// Broken returns the first violation, "" if there is none.
func (w *world) Broken() string {
	defer w.lock()()
	if len(w.broken) == 0 {
		return ""
	}
	return w.broken[0]
}

// Steps returns how many decisions were made.
func (w *world) Steps() int {
	defer w.lock()()
	return w.steps
}

// Tally returns how often what happened.
func (w *world) Tally() map[string]int {
	defer w.lock()()
	return maps.Clone(w.tally)
}

// History returns the last n lines before and around the first violation.
func (w *world) History(n int) string {
	defer w.lock()()
	end := len(w.trace)
	for i, line := range w.trace {
		if strings.Contains(line, "VIOLATION") {
			end = i + 1
			break
		}
	}
	return strings.Join(w.trace[max(0, end-n):end], "\n")
}
