package history

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/anishathalye/porcupine"
)

// Registers are what one client reads and writes.
type Registers interface {
	// Put returns an error unless the write is acknowledged: it may happen at any later time then, or never, as
	// ErrNotDone says.
	Put(ctx context.Context, key, value string) error
	// Get returns "" where nothing was put.
	Get(ctx context.Context, key string) (string, error)
}

// Start starts clients that read and write shared keys until Stop. Each has registers of its own, which open makes. The
// seed decides who does what.
func Start(ctx context.Context, open func(client int) Registers, prefix string, clients int, seed uint64) *History {
	return start(ctx, registerModel(), clients, seed, func(id int) client {
		with := open(id)
		return client{
			choose: func(choose *rand.Rand, n int) request {
				r := request{change: put, value: fmt.Sprintf("%d-%d", id, n)}
				if choose.IntN(2) > 0 {
					r = request{}
				}
				r.key = fmt.Sprintf("%s%d", prefix, choose.IntN(shared))
				return r
			},
			do: func(ctx context.Context, r request) (any, error) {
				if r.change == put {
					return "", with.Put(ctx, r.key, r.value)
				}
				return with.Get(ctx, r.key)
			},
		}
	})
}

// registerModel is one register for each key, empty at first.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: byKey,
		Init:      func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			if r := asRequest(input); r.change == put {
				return true, r.value
			}
			return output == state, state
		},
	}
}
