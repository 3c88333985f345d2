//go:build linux

package proxy

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLoad: clients that speak make it busy at once, and silence of all of them ends that, whatever wakes the loop.
func TestLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []bool
		l := newLoad(func(busy bool) { told = append(told, busy) })
		expect := func(want ...bool) {
			t.Helper()
			if !slices.Equal(told, want) {
				t.Fatalf("told %v, want %v", told, want)
			}
			if busy := len(want) > 0 && want[len(want)-1]; busy != (l.wait() >= 0) || !busy && l.hidden() != 0 {
				t.Fatalf("it waits for %s and %s", l.hidden(), l.wait())
			}
		}
		l.note(false)
		expect()
		for range 3 {
			l.note(true)
			time.Sleep(restTime / 2)
		}
		expect(true)
		l.note(false) // silent from here on
		time.Sleep(restTime / 2)
		l.note(false)
		expect(true)
		l.note(true)
		time.Sleep(2 * restTime)
		l.note(false)
		expect(true) // the end of the last round is not known
		time.Sleep(restTime)
		l.note(false)
		expect(true, false)
		l.note(false)
		l.note(true)
		expect(true, false, true)
	})
}

// TestRelayAtRest: the agent hears of clients that speak, and of their silence, while the proxy asks for permissions.
func TestRelayAtRest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []bool
	r, err := newRelay(func(busy bool) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, busy)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	r.call(func() { r.load.rest = 20 * time.Millisecond })
	heard := func() []bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(told)
	}
	client, server := joined(t, r, always)
	var want []bool
	for range 3 {
		if _, err := client.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		want = append(want, true, false)
		for deadline := time.Now().Add(20 * time.Second); !slices.Equal(heard(), want); r.prune() {
			if time.Now().After(deadline) {
				t.Fatalf("told %v, want %v", heard(), want)
			}
		}
	}
}
