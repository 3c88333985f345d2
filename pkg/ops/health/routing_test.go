package health

import (
	"strings"
	"testing"
	"time"

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

// TestOutlived: pods that are older than the account hold tokens of another one, until they are renewed.
func TestOutlived(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		change func(*ops.State)
		want   string
	}{
		"pods are older": {func(*ops.State) {}, "the pods of db-1, db-3 are older"},
		"a witness has none": {func(s *ops.State) { s.Cluster.Status.Bootstrap.Witnesses = []string{"db-3"} },
			"of db-1 are older"},
		"a token counts on":    {func(s *ops.State) { s.Kube.Account = made.Add(-time.Hour) }, ""},
		"all were renewed":     {func(s *ops.State) { s.Now = made.Add(2 * time.Hour) }, ""},
		"nobody may read it":   {func(s *ops.State) { s.Kube.Account = time.Time{} }, ""},
		"they pass clients on": {func(s *ops.State) { s.Kube.Direct = false }, ""},
		"members restart":      {func(s *ops.State) { s.Operation = opstest.Operation(v1alpha1.VerbRestart) }, ""},
	} {
		s := opstest.Well(3)
		s.Kube.Direct, s.Kube.LedTo, s.Kube.Account, s.Now = true, "db-1", made, made.Add(time.Minute)
		for i, after := range []time.Duration{-time.Minute, time.Second, -time.Minute} {
			s.Kube.Members[i].Pod.Created = made.Add(after)
		}
		c.change(&s)
		got := ""
		for _, f := range Altered(s) {
			if f.Subject == "serviceaccount/db-agents" {
				got = f.What
			}
		}
		if !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
