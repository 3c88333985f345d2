package health

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestMisled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ops.State)
		want   string
	}{
		"agents pass clients on": {func(s *ops.State) { s.Kube.Direct = false }, ""},
		"to the primary":         {func(s *ops.State) { s.Kube.LedTo = "db-1" }, ""},
		"to another member":      {func(s *ops.State) { s.Kube.LedTo = "db-2" }, "it leads to db-2, and db-1 is the primary"},
		"nowhere":                {func(*ops.State) {}, "it leads to no member, and db-1 is the primary"},
		"there is no primary":    {func(s *ops.State) { s.View.Members = nil }, ""},
		"meanwhile":              {func(s *ops.State) { s.Operation = opstest.Operation(v1alpha1.VerbSwitchover) }, ""},
	} {
		s := opstest.Well(3)
		s.Kube.Direct = true
		c.change(&s)
		got := ""
		for _, f := range Altered(s) {
			if f.Subject == "service/db-client" {
				got = f.What
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
