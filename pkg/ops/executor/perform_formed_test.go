package executor

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestServicesLead: who puts a service back that leads straight to the primary has the members read it at once. What
// comes of that is no failure: they read it again.
func TestServicesLead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ops.State)
		err    error
		want   []string
	}{
		"it leads to the primary":    {change: func(*ops.State) {}, want: []string{"lead clients"}},
		"no agent can do it":         {change: func(*ops.State) {}, err: errors.New("away"), want: []string{"lead clients"}},
		"it leads to all members":    {change: func(s *ops.State) { s.Cluster.Spec.Routing = v1alpha1.RoutingProxied }},
		"there is nobody to lead to": {change: func(s *ops.State) { s.View = engine.View{} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := opstest.NewBench(t)
			s := opstest.Well(2)
			s.Cluster = b.Founded(2, "id")
			running(b, "db-1", "db-2")
			s.Cluster.Spec.Routing = v1alpha1.RoutingDirect
			c.change(&s)
			b.Database.Model.Err = c.err
			b.Must(liveOf(b).repair(t.Context(), task{State: s, Step: ops.Step{Touches: []string{"service/db-client"}}}))
			if !b.Exists(&corev1.Service{}, "db-client") {
				t.Error("there is no service")
			}
			var got []string
			for _, session := range b.Database.Sessions {
				got = append(got, session.Calls...)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestServicesRead: a reader has nobody lead clients.
func TestServicesRead(t *testing.T) {
	t.Parallel()
	if _, leads := engine.ReadOnly(nil).(engine.ClientLeader); leads {
		t.Error("a session that only reads changes the service")
	}
}
