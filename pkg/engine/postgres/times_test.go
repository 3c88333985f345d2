package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestTimes: a cluster is made with the times that are asked for, if the agents can work with them, and keeps them.
func TestTimes(t *testing.T) {
	t.Parallel()
	e := New()
	for lease, want := range map[string]string{"9s": "", "5s": "raise lease"} {
		spec := v1alpha1.DatabaseClusterSpec{Members: 3, Version: e.Catalog().Default,
			Config: map[string]string{"lease": lease}}
		spec.Auth.Enabled = true
		err := e.CheckCreate(spec, false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a lease of %s: %v, want %q", lease, err, want)
		}
	}
	if fixed, ok := engine.Engine(e).(engine.FixedSettings); !ok || !slices.Contains(fixed.FixedOptions(), "lease") {
		t.Error("the lease of a cluster can be changed")
	}
}
