//go:build linux

package movein

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestHaltAgain: a cut over that is asked for again takes no source for closed that somebody opened meanwhile.
func TestHaltAgain(t *testing.T) {
	t.Parallel()
	m := followed(t, "CREATE TABLE public.orders (id int PRIMARY KEY)")
	halt := func() {
		t.Helper()
		var last error
		until(t, "a cut over", func() bool {
			_, last = m.Halt(t.Context(), api.Cutover{}, func() bool { return true })
			return last == nil
		})
	}
	arrived := func(want string) {
		t.Helper()
		if got := m.here(t, "shop", "SELECT count(*) FROM public.orders"); got != want {
			t.Errorf("%s rows are here, want %s", got, want)
		}
	}
	m.busy <- struct{}{}
	m.opened = false // as before the first round of the loop
	if _, err := m.halt(t.Context(), false, func() bool { return true }); err == nil {
		t.Error("a source is closed that the next round opens")
	}
	<-m.busy
	halt()
	if _, err := m.Halt(t.Context(), api.Cutover{}, func() bool { return true }); err != nil {
		t.Errorf("a second request: %v", err)
	}
	if err := m.Unhalt(t.Context()); err == nil || !strings.Contains(err.Error(), "stays closed") {
		t.Errorf("what an earlier request closed is opened: %v", err)
	}
	m.there(t, "postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS true")
	m.there(t, "shop", "INSERT INTO public.orders VALUES (1)")
	halt()
	arrived("1")
	m.there(t, "postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS true")
	m.there(t, "shop", "INSERT INTO public.orders VALUES (2)")
	m.there(t, "postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS false")
	halt()
	arrived("2")
}
