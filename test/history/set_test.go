package history

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

func TestSetModel(t *testing.T) {
	change := func(what change, member int, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: request{change: what, key: "k", member: member}, Call: from, Return: to}
	}
	read := func(from, to int64, members ...int) porcupine.Operation {
		return porcupine.Operation{Input: request{key: "k"}, Call: from, Output: setOf(members...), Return: to}
	}
	for _, c := range []struct {
		name string
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		{"read after changes", []porcupine.Operation{change(add, 1, 0, 1), change(add, 2, 2, 3), change(remove, 1, 4, 5),
			read(6, 7, 2)}, porcupine.Ok},
		{"lost member", []porcupine.Operation{change(add, 1, 0, 1), change(add, 2, 2, 3), read(4, 5, 2)}, porcupine.Illegal},
		{"member that came back", []porcupine.Operation{change(add, 1, 0, 1), change(remove, 1, 2, 3), read(4, 5, 1)},
			porcupine.Illegal},
		{"the later one without the earlier", []porcupine.Operation{change(add, 1, 0, 1), change(add, 2, 2, math.MaxInt64),
			read(4, 5, 2), read(6, 7, 1, 2)}, porcupine.Illegal},
		{"unanswered change that happened later", []porcupine.Operation{change(add, 1, 0, math.MaxInt64), read(2, 3),
			read(4, 5, 1)}, porcupine.Ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(setModel(), c.ops, 0); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
