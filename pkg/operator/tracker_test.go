package operator

import (
	"testing"
	"time"
)

// TestTrackerBacksOff: a cluster that can't go on is tried at growing intervals,
// never in a hot loop, and at once when a person changed what is wanted.
func TestTrackerBacksOff(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	m, began, tries := &tracker{}, now, 0
	for now.Sub(began) < time.Hour {
		if wait := m.waits(now, "one"); wait > 0 {
			now = now.Add(wait)
			continue
		}
		tries++
		if delay := m.fail(now, "one"); delay < firstDelay || delay > lastDelay {
			t.Fatalf("try %d: again in %s", tries, delay)
		}
	}
	if tries < 30 || tries > 40 {
		t.Errorf("%d tries in an hour", tries)
	}
	m.fail(now, "one")
	if m.waits(now, "one") == 0 {
		t.Error("the same again does not wait")
	}
	if m.waits(now, "other") != 0 {
		t.Error("what a person changed waits")
	}
	if delay := m.fail(now, "other"); delay != firstDelay {
		t.Errorf("the first failure of something new waits %s", delay)
	}
	for range 20 {
		m.fail(now, "other")
	}
	m.touched.Store(true)
	if wait := m.waits(now, "other"); wait != touchedDelay {
		t.Errorf("its pods changed, and it waits %s", wait)
	}
	m.fail(now, "other")
	if wait := m.waits(now, "other"); wait != lastDelay {
		t.Errorf("it failed again, and waits %s", wait)
	}
	m.well()
	if m.waits(now, "other") != 0 {
		t.Error("a cluster that is well waits")
	}
}
