//go:build linux

package process

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLongLine: a line of any length is followed by the next one.
func TestLongLine(t *testing.T) {
	t.Parallel()
	var got []string
	cmd := exec.Command("sh", "-c", "echo before; head -c 300000 /dev/zero | tr '\\0' x; echo; echo after; printf end")
	p, err := Start(cmd, func() []int { return nil }, func(line string) { got = append(got, line) }, func(*Process) {})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done
	long := func(n int) string { return strings.Repeat("x", n) + " ..." }
	if diff := cmp.Diff([]string{"before", long(longestLine), "after", "end"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("before\n"+long(longestTail)+"\nafter\nend", p.Tail()); diff != "" {
		t.Error(diff)
	}
}
