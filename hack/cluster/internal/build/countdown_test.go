package build

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCountdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big, small := Target{Name: "big", packages: 2100}, Target{Name: "small", packages: 420}
		c := newCountdown([]Target{big, small})
		says := func(want string) {
			t.Helper()
			if got := c.String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		says("0 of about 2520 packages compiled, at most 8 minutes left")
		for range 1050 {
			c.compiled(big)
		}
		time.Sleep(10 * time.Minute)
		says("1050 of about 2520 packages compiled, about 14 minutes left")
		c.finish(big)
		for range 500 { // more than recorded
			c.compiled(small)
		}
		says("2520 of about 2520 packages compiled, about a minute left")
	})
}
