package cli

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestVerbosityShowsNoBodies: levels above 7 would.
func TestVerbosityShowsNoBodies(t *testing.T) {
	defer klog.CaptureState().Restore()
	b := newBench(t)
	for _, test := range []struct {
		level     string
		code      int
		enabled   klog.Level
		complains bool
	}{
		{"6", ExitDone, 6, false},
		{"7", ExitDone, 7, false},
		{"10", ExitDone, 7, true},
		{"-1", ExitUsage, 7, true},
	} {
		r := b.run("list", "-v", test.level)
		if r.code != test.code || strings.Contains(r.err, "-v") != test.complains ||
			!klog.V(test.enabled).Enabled() || klog.V(test.enabled+1).Enabled() {
			t.Errorf("-v %s: exit %d, level 8 is %t\n%s", test.level, r.code, klog.V(8).Enabled(), r.err)
		}
	}
}
