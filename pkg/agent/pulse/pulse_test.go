package pulse

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(Next(time.Second))
		for i := range 20 {
			if long := Next(time.Second); long != time.Second-time.Duration(i%5)*200*time.Millisecond {
				t.Fatalf("after %d short pulses the long one comes in %s", i, long)
			}
			if short := Next(200 * time.Millisecond); short != 200*time.Millisecond {
				t.Fatalf("the next short pulse comes in %s", short)
			}
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		if short := Next(200 * time.Millisecond); short != 199*time.Millisecond {
			t.Errorf("the next pulse comes in %s", short)
		}
	})
}

func TestShared(t *testing.T) {
	t.Parallel()
	value := func(name string) string { return strings.TrimPrefix(Shared(name), variable+"=") }
	now := time.Date(2026, 7, 1, 12, 0, 0, 123456789, time.UTC)
	a := begin(value("a"), now)
	if now.Sub(a) < 0 || now.Sub(a) >= round {
		t.Fatalf("at %s a round began at %s", now, a)
	}
	for _, later := range []time.Duration{time.Nanosecond, 777 * time.Millisecond, round - 1, round, 100*round + 1} {
		if apart := begin(value("a"), now.Add(later)).Sub(a) % round; apart != 0 {
			t.Errorf("who begins %s later has its pulses %s apart", later, apart)
		}
	}
	if apart := begin(value("b"), now).Sub(a) % time.Second; apart == 0 {
		t.Error("two clusters have the same pulses")
	}
	if alone := begin("", now); alone != now {
		t.Errorf("a process that shares its pulses with nobody counts them from %s, not from its start", alone)
	}
}
