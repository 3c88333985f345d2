package history

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The judge itself must tell right from wrong.
func TestRegisterModel(t *testing.T) {
	put := func(value string, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: request{change: put, key: "k", value: value}, Call: from, Output: "", Return: to}
	}
	get := func(value string, from, to int64) porcupine.Operation {
		return porcupine.Operation{Input: request{key: "k"}, Call: from, Output: value, Return: to}
	}
	for _, c := range []struct {
		name string
		ops  []porcupine.Operation
		want porcupine.CheckResult
	}{
		{"read after write", []porcupine.Operation{put("a", 0, 1), get("a", 2, 3)}, porcupine.Ok},
		{"stale read", []porcupine.Operation{put("a", 0, 1), put("b", 2, 3), get("a", 4, 5)}, porcupine.Illegal},
		{"lost write", []porcupine.Operation{put("a", 0, 1), get("", 2, 3)}, porcupine.Illegal},
		{"unanswered write that happened later", []porcupine.Operation{put("a", 0, math.MaxInt64), get("", 2, 3),
			get("a", 4, 5)}, porcupine.Ok},
		{"unanswered write that never happened", []porcupine.Operation{put("a", 0, math.MaxInt64), get("", 2, 3)},
			porcupine.Ok},
		{"unanswered write that came and went", []porcupine.Operation{put("a", 0, math.MaxInt64), get("a", 2, 3),
			get("", 4, 5)}, porcupine.Illegal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := porcupine.CheckOperationsTimeout(registerModel(), c.ops, 0); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
