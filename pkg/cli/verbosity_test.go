package cli_test

import (
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestVerbosityShowsNoBodies: levels above 7 would.
func TestVerbosityShowsNoBodies(t *testing.T) {
	defer klog.CaptureState().Restore()
	b := clitest.New(t)
	for _, test := range []struct {
		level     string
		code      int
		enabled   klog.Level
		complains bool
	}{
		{"6", exit.Done, 6, false},
		{"7", exit.Done, 7, false},
		{"10", exit.Done, 7, true},
		{"-1", exit.Usage, 7, true},
	} {
		r := b.Run("list", "-v", test.level)
		if r.Code != test.code || strings.Contains(r.Err, "-v") != test.complains ||
			!klog.V(test.enabled).Enabled() || klog.V(test.enabled+1).Enabled() {
			t.Errorf("-v %s: exit %d, level 8 is %t\n%s", test.level, r.Code, klog.V(8).Enabled(), r.Err)
		}
	}
}
