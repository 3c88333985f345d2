// Package history records what several clients did to a few registers, and judges whether one order of all that
// explains what each of them saw.
package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// Registers are what one client reads and writes.
type Registers interface {
	// Put returns an error unless the write is acknowledged: it may happen at any later time then, or never.
	Put(ctx context.Context, key, value string) error
	// Get returns "" where nothing was put.
	Get(ctx context.Context, key string) (string, error)
}

// History records what several clients did to a few registers, to be judged
// for linearizability afterwards.
type History struct {
	prefix string
	cancel context.CancelFunc
	done   sync.WaitGroup
	began  time.Time
	mu     sync.Mutex
	ops    []porcupine.Operation
	next   int
}

const (
	// registers is how many keys the clients share; porcupine judges each alone.
	registers = 8
	// historyPause between two requests of one client bounds the history's length.
	historyPause = 40 * time.Millisecond
	// tryTimeout is when a client gives up one request; a write may still happen.
	tryTimeout = time.Second
)

type request struct {
	put   bool
	key   string
	value string
}

// Start starts clients that read and write shared keys until Stop. Each has registers of its own, which open makes. The
// seed decides who does what.
func Start(ctx context.Context, open func(client int) Registers, prefix string, clients int, seed uint64) *History {
	ctx, cancel := context.WithCancel(ctx)
	h := &History{prefix: prefix, cancel: cancel, began: time.Now(), next: clients}
	for id := range clients {
		h.done.Go(func() {
			h.run(ctx, open(id), id,
				rand.New(rand.NewPCG(seed, uint64(id))))
		}) // #nosec G404 G115 -- a reproducible choice
	}
	return h
}

func (h *History) run(ctx context.Context, with Registers, id int, choose *rand.Rand) {
	tick := time.NewTicker(historyPause)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		r := request{put: choose.IntN(2) == 0, key: fmt.Sprintf("%s%d", h.prefix, choose.IntN(registers))}
		if r.put {
			r.value = fmt.Sprintf("%d-%d", id, n)
		}
		h.record(context.WithoutCancel(ctx), with, id, r)
	}
}

// record does one request. A write without an answer may have happened, may
// happen later or never: its end is open. A read without an answer says nothing.
func (h *History) record(ctx context.Context, with Registers, id int, r request) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	call := time.Since(h.began).Nanoseconds()
	output, err := do(ctx, with, r)
	back := time.Since(h.began).Nanoseconds()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
	case !r.put:
		return
	default:
		back = math.MaxInt64
		id = h.next
		h.next++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: id, Input: r, Call: call, Output: output, Return: back})
}

func do(ctx context.Context, with Registers, r request) (string, error) {
	if r.put {
		return "", with.Put(ctx, r.key, r.value)
	}
	return with.Get(ctx, r.key)
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
	result := porcupine.CheckOperationsTimeout(registerModel(), h.ops, within)
	j.Took = time.Since(began)
	switch result {
	case porcupine.Ok:
		return j, nil
	case porcupine.Unknown:
		return j, fmt.Errorf("%w: %d operations in %s", ErrUndecided, j.Operations, within)
	default:
		return j, fmt.Errorf("the history of %d operations is not linearizable", j.Operations)
	}
}

// registerModel is one register for each key, empty at first.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
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
		},
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			if r := asRequest(input); r.put {
				return true, r.value
			}
			return output == state, state
		},
	}
}

func asRequest(input any) request {
	r, _ := input.(request)
	return r
}
