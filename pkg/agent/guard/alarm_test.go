//go:build linux

package guard

import (
	"testing"
	"time"
)

func TestAlarm(t *testing.T) {
	t.Parallel()
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	rings := func(within time.Duration) bool {
		select {
		case <-a.rings:
			return true
		case <-time.After(within):
			return false
		}
	}
	at := Now().Add(50 * time.Millisecond)
	if err := a.set(at); err != nil {
		t.Fatal(err)
	}
	if !rings(10*time.Second) || Now() < at {
		t.Errorf("it does not ring, or rings at %d, before %d", Now(), at)
	}
	if err := a.set(at); err != nil || !rings(10*time.Second) {
		t.Errorf("it does not ring for an instant that has passed: %v", err)
	}
	_ = a.set(Now().Add(50 * time.Millisecond))
	if err := a.set(0); err != nil || rings(200*time.Millisecond) {
		t.Errorf("it rings although it was taken back: %v", err)
	}
}
