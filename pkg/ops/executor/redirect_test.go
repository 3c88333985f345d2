package executor

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestRedirectToWhoLetsNobodyIn: clients are not sent where nobody lets them in, no matter who asks.
func TestRedirectToWhoLetsNobodyIn(t *testing.T) {
	t.Parallel()
	well := func(*ops.State) {}
	follows := func(s *ops.State) { s.View.Source = &engine.Source{Address: "other:5432", Following: true} }
	closed := func(s *ops.State) {
		for i := range s.View.Members {
			s.View.Members[i].Closed = []string{"app"}
		}
	}
	away := func(s *ops.State) { s.View = engine.View{} }
	for name, c := range map[string]struct {
		change func(*ops.State)
		// there and back are why clients are not sent to that cluster, or back to it.
		there, back string
	}{
		"it takes writes":    {well, "", ""},
		"it follows":         {follows, "follows other:5432", "follows other:5432"},
		"it is closed":       {closed, "lets nobody into app", "lets nobody into app"},
		"it does not answer": {away, "does not answer", ""}, // stopped, for example: clients wait for it anyway
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			c.change(&s)
			b := opstest.NewBench(t)
			s.Operation = opstest.Operation(v1alpha1.VerbConfigure)
			s.Operation.Spec.Change = &v1alpha1.SettingsChange{RedirectTo: new("")}
			for _, way := range []struct {
				want string
				got  error
			}{{c.there, knownEntry("next", s, "hint")}, {c.back, liveOf(b).rehearseRedirect(t.Context(), s)}} {
				if way.want == "" && way.got != nil || way.want != "" && (way.got == nil ||
					!strings.Contains(way.got.Error(), way.want) || ops.KindOf(way.got) != ops.Refused) {
					t.Errorf("want %q: %v", way.want, way.got)
				}
			}
		})
	}
}

// TestRedirectRehearsed: the other cluster is asked before the operation begins, if it may follow, and only then.
func TestRedirectRehearsed(t *testing.T) {
	t.Parallel()
	to := func(name string) *v1alpha1.SettingsChange { return &v1alpha1.SettingsChange{RedirectTo: &name} }
	for name, c := range map[string]struct {
		source *v1alpha1.Source
		change *v1alpha1.SettingsChange
		want   string
	}{
		"a copy that does not answer": {&v1alpha1.Source{Cluster: "db"}, to("next"), "does not answer"},
		"a cluster that is no copy":   {nil, to("next"), ""},
		"another setting of this one": {&v1alpha1.Source{Cluster: "db"}, &v1alpha1.SettingsChange{}, ""},
		"no cluster":                  {nil, to("none"), "there is no such cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := opstest.NewBench(t)
			next := opstest.Wanted(1).Cluster
			next.Name, next.Spec.Source = "next", c.source
			b.Must(b.Store().CreateCluster(t.Context(), next))
			s := opstest.Well(3)
			s.Cluster = b.Founded(3, "id")
			s.Operation = opstest.Operation(v1alpha1.VerbConfigure)
			s.Operation.Spec.Change = c.change
			if to := c.change.RedirectTo; to != nil {
				s.Cluster.Spec.RedirectTo = *to
			}
			err := liveOf(b).rehearseRedirect(t.Context(), s)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q: %v", c.want, err)
			}
		})
	}
}
