package pulse

import (
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
