package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	// members is how many members a set may have.
	members = 16
	// setFor is how many requests of a client go to the same sets before others take their place: the longer a history
	// is, the harder it is to judge.
	setFor = 300
)

// Sets are what one client changes and reads. Members are numbers from 0 on.
type Sets interface {
	// Add and Remove return an error unless the write is acknowledged: it may happen at any later time then, or never.
	Add(ctx context.Context, key string, member int) error
	Remove(ctx context.Context, key string, member int) error
	// Members returns all members at one moment.
	Members(ctx context.Context, key string) ([]int, error)
}

// StartSets starts clients that change and read shared sets until Stop, as Start does with registers. A set tells more:
// each read shows what became of many writes.
func StartSets(ctx context.Context, open func(client int) Sets, prefix string, clients int, seed uint64) *History {
	return start(ctx, setModel(), clients, seed, func(id int) client {
		with := open(id)
		return client{
			choose: func(choose *rand.Rand, n int) request {
				r := request{change: []change{nothing, add, add, remove}[choose.IntN(4)], member: choose.IntN(members)}
				r.key = fmt.Sprintf("%s%d-%d", prefix, n/setFor, choose.IntN(shared))
				return r
			},
			do: func(ctx context.Context, r request) (any, error) {
				switch r.change {
				case add:
					return nil, with.Add(ctx, r.key, r.member)
				case remove:
					return nil, with.Remove(ctx, r.key, r.member)
				default:
					found, err := with.Members(ctx, r.key)
					return setOf(found...), err
				}
			},
		}
	})
}

// set has a bit for each member.
type set uint64

func (s set) String() string {
	var all []string
	for m := range members {
		if s&setOf(m) != 0 {
			all = append(all, strconv.Itoa(m))
		}
	}
	return "{" + strings.Join(all, " ") + "}"
}

func setOf(all ...int) (s set) {
	for _, m := range all {
		s |= 1 << m
	}
	return s
}

// setModel is one set for each key, empty at first.
func setModel() porcupine.Model {
	return porcupine.Model{
		Partition: byKey,
		Init:      func() any { return set(0) },
		Step: func(state, input, output any) (bool, any) {
			now, _ := state.(set)
			switch r := asRequest(input); r.change {
			case add:
				return true, now | setOf(r.member)
			case remove:
				return true, now &^ setOf(r.member)
			default:
				return output == state, state
			}
		},
	}
}
