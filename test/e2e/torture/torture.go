//go:build e2e

// Package torture kills the tool between the steps of a command, on a real cluster, and keeps what came of it.
package torture

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

// Full asks for every fail point instead of a selection.
func Full() bool { return os.Getenv("DBOP_TORTURE") == "all" }

// usualSeed makes the selection of make test, the same in every run: a red one
// is to mean that the change is bad, not the draw.
const usualSeed = 20261122

// Seed is that of this run, which it prints.
func Seed(t *testing.T) uint64 {
	t.Helper()
	seed := SeedOf(t)
	fmt.Printf("seed of %s: DBOP_SEED=%d\n", t.Name(), seed)
	return seed
}

// SeedOf is the seed of this run: DBOP_SEED, a number, or "any" for a new one.
func SeedOf(t *testing.T) uint64 {
	t.Helper()
	switch text := os.Getenv("DBOP_SEED"); text {
	case "":
		return usualSeed
	case "any":
		return uint64(os.Getpid()) // #nosec G115 -- any number will do; all tests of a run have the same
	default:
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("DBOP_SEED: %v", err)
		}
		return seed
	}
}
