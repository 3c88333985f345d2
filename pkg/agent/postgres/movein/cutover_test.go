//go:build linux

package movein

import (
	"fmt"
	"strconv"
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
	for i, more := range []string{"", "ALTER DATABASE shop ALLOW_CONNECTIONS false"} {
		m.here(t, "shop", "ALTER SUBSCRIPTION dbop_source DISABLE; SELECT 1")
		m.there(t, "postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS true")
		m.there(t, "shop", fmt.Sprintf("INSERT INTO public.orders VALUES (%d)", i))
		m.there(t, "postgres", more)
		if _, err := m.Halt(t.Context(), api.Cutover{}, func() bool { return true }); err == nil {
			t.Errorf("the source is said to be closed, and what was written there is not here (%q)", more)
		}
		m.here(t, "shop", "ALTER SUBSCRIPTION dbop_source ENABLE; SELECT 1")
		halt()
		if got := m.here(t, "shop", "SELECT count(*) FROM public.orders"); got != strconv.Itoa(i+1) {
			t.Errorf("%s rows are here, want %d", got, i+1)
		}
	}
}
