package executor

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestSourceOfACustomResource: who may write a custom resource must not have pods mount a secret that nobody
// offered, nor one that is not there yet and that may be anything.
func TestSourceOfACustomResource(t *testing.T) {
	t.Parallel()
	offered := map[string]string{v1alpha1.LabelUse: v1alpha1.UseCluster}
	for name, c := range map[string]struct {
		source    v1alpha1.Source
		there     bool
		labels    map[string]string
		successor string
		formed    bool
		person    bool
		refused   bool
	}{
		"it is offered":             {source: v1alpha1.Source{Address: "a:1", Secret: "s"}, there: true, labels: offered},
		"it is not offered":         {source: v1alpha1.Source{Address: "a:1", Secret: "s"}, there: true, refused: true},
		"it is not there yet":       {source: v1alpha1.Source{Address: "a:1", Secret: "s"}, refused: true},
		"it was used long ago":      {source: v1alpha1.Source{Address: "a:1", Secret: "s"}, formed: true},
		"a person mounts it":        {source: v1alpha1.Source{Address: "a:1", Secret: "s"}, person: true},
		"nothing is mounted":        {source: v1alpha1.Source{Address: "a:1"}},
		"a cluster names this one":  {source: v1alpha1.Source{Cluster: "former"}, successor: "db"},
		"a cluster names another":   {source: v1alpha1.Source{Cluster: "former"}, successor: "other", refused: true},
		"a cluster names nobody":    {source: v1alpha1.Source{Cluster: "former"}, refused: true},
		"a person copies a cluster": {source: v1alpha1.Source{Cluster: "former"}, person: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := opstest.NewBench(t)
			id := ""
			if c.formed {
				id = "id"
			}
			cluster := b.Founded(1, id)
			cluster.Spec.Source = &c.source
			if c.there {
				b.Must(b.Server.API.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
					Namespace: cluster.Namespace, Name: "s", Labels: c.labels}}))
			}
			l := liveOf(b)
			own := *l.Client
			record := func(_ context.Context, _, of string) (*v1alpha1.DatabaseCluster, error) {
				out := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: of}}
				out.Spec.Successor = c.successor
				return out, nil
			}
			own.Behalf = kube.Behalf{Limited: !c.person, Record: record}
			l.Client = &own
			s := ops.State{Cluster: cluster}
			before := len(b.Server.Writes)
			rehearsed := l.Rehearse(t.Context(), s, ops.Step{Action: ops.ActionStart, Members: []string{"db-1"}})
			started := error(nil)
			if c.refused {
				started = l.start(t.Context(), task{State: s, Step: ops.Step{Members: []string{"db-1"}}})
			}
			for what, err := range map[string]error{"its rehearsal": rehearsed, "the start": started} {
				if errors.Is(err, kube.ErrNotOffered) != c.refused || !c.refused && err != nil {
					t.Errorf("%s: %v, refused is to be %t", what, err, c.refused)
				}
			}
			if made := b.Server.Writes[before:]; len(made) > 0 {
				t.Errorf("it wrote %v", made)
			}
		})
	}
}
