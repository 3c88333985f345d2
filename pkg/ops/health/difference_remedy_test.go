package health

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestLostLogin: where the tool can't log in, nobody is told to recover members
// that nobody asked.
func TestLostLogin(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	opstest.NoQuorum(&s)
	for i := range s.View.Members {
		s.View.Members[i].Reachable = false
	}
	recovers := func(s ops.State) bool {
		all := Assess(opstest.Stub{}, s, verbs).Next
		for _, f := range Diagnose(opstest.Stub{}, s, verbs).Findings {
			all = append(all, f.Remedy...)
		}
		return slices.ContainsFunc(all, func(c string) bool { return strings.Contains(c, "dbop recover") })
	}
	if !recovers(s) {
		t.Error("members that do not answer are to be recovered")
	}
	s.Kube.Differences = []drift.Difference{{Object: "secret/db-admin-tls", Kind: drift.Missing}}
	if recovers(s) {
		t.Error("recover is suggested, though nobody could ask the members")
	}
	if next := Assess(opstest.Stub{}, s, verbs).Next; !slices.Contains(next, "kubectl dbop repair db") {
		t.Errorf("next: %v", next)
	}
}

// TestLeaving: what Kubernetes deletes once a pod stops is not written again,
// so that repair is no remedy.
func TestLeaving(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Kube.Members[1].Volume.Terminating = true
	for _, kind := range []drift.Kind{drift.Terminating, drift.Owner} {
		f := Finding(s, drift.Difference{Object: "persistentvolumeclaim/db-2", Member: "db-2", Kind: kind})
		if want := []string{"kubectl dbop member replace db db-2"}; !slices.Equal(f.Remedy, want) {
			t.Errorf("%s: remedy %q, want %q", kind, f.Remedy, want)
		}
	}
}
