// Package history records what several clients did to a few registers or sets, and judges whether one order of all that
// explains what each of them saw.
package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// History records what several clients did to a few keys, to be judged for linearizability afterwards.
type History struct {
	model  porcupine.Model
	cancel context.CancelFunc
	done   sync.WaitGroup
	began  time.Time
	mu     sync.Mutex
	ops    []porcupine.Operation
	next   int
}

const (
	// shared is how many keys the clients share; porcupine judges each alone.
	shared = 8
	// historyPause between two requests of one client bounds the history's length.
	historyPause = 40 * time.Millisecond
	// tryTimeout is when a client gives up one request; a write may still happen.
	tryTimeout = time.Second
)

// change is what a request does to a key.
type change int

const (
	nothing change = iota // it reads
	put
	add
	remove
)

type request struct {
	change change
	key    string
	value  string
	member int
}

func (r request) String() string {
	switch r.change {
	case put:
		return r.key + " becomes " + r.value
	case add:
		return fmt.Sprintf("%s gets %d", r.key, r.member)
	case remove:
		return fmt.Sprintf("%s loses %d", r.key, r.member)
	default:
		return r.key + " is"
	}
}

// client does what it chooses.
type client struct {
	choose func(choose *rand.Rand, n int) request
	do     func(ctx context.Context, r request) (output any, err error)
}

// start starts clients until Stop. The seed decides who does what.
func start(ctx context.Context, model porcupine.Model, clients int, seed uint64, open func(id int) client) *History {
	ctx, cancel := context.WithCancel(ctx)
	h := &History{model: model, cancel: cancel, began: time.Now(), next: clients}
	for id := range clients {
		h.done.Go(func() {
			h.run(ctx, open(id), id,
				rand.New(rand.NewPCG(seed, uint64(id))))
		}) // #nosec G404 G115 -- a reproducible choice
	}
	return h
}

func (h *History) run(ctx context.Context, c client, id int, choose *rand.Rand) {
	tick := time.NewTicker(historyPause)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		h.record(context.WithoutCancel(ctx), c, id, c.choose(choose, n))
	}
}

// ErrNotDone says that a write never happens: it was not sent, or refused.
var ErrNotDone = errors.New("nothing was written")

// record does one request. A write without an answer may have happened, may
// happen later or never: its end is open. A read without an answer says nothing.
func (h *History) record(ctx context.Context, c client, id int, r request) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	call := time.Since(h.began).Nanoseconds()
	output, err := c.do(ctx, r)
	back := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
	case r.change == nothing, errors.Is(err, ErrNotDone):
		return
	default:
		back = math.MaxInt64
		id = h.next
		h.next++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: id, Input: r, Call: call, Output: output, Return: back})
}

// Judgement is what came of a history.
type Judgement struct {
	Operations, Unknown int
	Took                time.Duration
}

// ErrUndecided says that the check ran out of time.
var ErrUndecided = errors.New("the history is too hard to judge in the time given")

// Stop ends the clients and judges what they saw, in bounded time.
func (h *History) Stop(within time.Duration) (Judgement, error) {
	h.cancel()
	h.done.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	j := Judgement{Operations: len(h.ops)}
	for _, o := range h.ops {
		if o.Return == math.MaxInt64 {
			j.Unknown++
		}
	}
	began := time.Now()
	result := porcupine.CheckOperationsTimeout(h.model, h.ops, within)
	j.Took = time.Since(began)
	switch result {
	case porcupine.Ok:
		return j, nil
	case porcupine.Unknown:
		return j, fmt.Errorf("%w: %d operations in %s", ErrUndecided, j.Operations, within)
	default:
		return j, fmt.Errorf("the history of %d operations is not linearizable:\n%s", j.Operations, h.wrong())
	}
}

// wrong lists what was done to the first key whose history no order explains.
func (h *History) wrong() string {
	for _, ops := range byKey(h.ops) {
		if porcupine.CheckOperations(h.model, ops) {
			continue
		}
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		var b strings.Builder
		for _, o := range ops {
			until := "never answered"
			if o.Return != math.MaxInt64 {
				until = time.Duration(o.Return).Truncate(time.Microsecond).String()
			}
			fmt.Fprintf(&b, "client %d, %s to %s: %s, %v\n", o.ClientId, time.Duration(o.Call).Truncate(time.Microsecond), until,
				asRequest(o.Input), o.Output)
		}
		return b.String()
	}
	return ""
}

// byKey parts a history into those of its keys.
func byKey(all []porcupine.Operation) [][]porcupine.Operation {
	at := map[string]int{}
	var out [][]porcupine.Operation
	for _, o := range all {
		key := asRequest(o.Input).key
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, nil)
		}
		out[i] = append(out[i], o)
	}
	return out
}

func asRequest(input any) request {
	r, _ := input.(request)
	return r
}
