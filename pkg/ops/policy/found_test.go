package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// witnessed is an engine that always adds a witness.
type witnessed struct{ opstest.Stub }

func (witnessed) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 1 }

func TestFound(t *testing.T) {
	for name, c := range map[string]struct {
		engine engine.Engine
		spec   v1alpha1.DatabaseClusterSpec
		want   v1alpha1.Bootstrap
	}{
		"all members found together": {opstest.Stub{}, v1alpha1.DatabaseClusterSpec{},
			v1alpha1.Bootstrap{Members: []string{"my-db-1", "my-db-2", "my-db-3"}}},
		"a restored cluster begins with one, and with its users": {witnessed{}, v1alpha1.DatabaseClusterSpec{
			Auth: v1alpha1.Auth{Enabled: true}, RestoreFrom: &v1alpha1.RestoreSource{Backup: "b"}},
			v1alpha1.Bootstrap{Members: []string{"my-db-1"}}},
		"users are made": {opstest.Stub{}, v1alpha1.DatabaseClusterSpec{Auth: v1alpha1.Auth{Enabled: true}},
			v1alpha1.Bootstrap{Members: []string{"my-db-1", "my-db-2", "my-db-3"}, Unfinished: true}},
		"users come from a source": {opstest.Stub{}, v1alpha1.DatabaseClusterSpec{
			Auth: v1alpha1.Auth{Enabled: true}, Source: &v1alpha1.Source{Address: "there:1"}},
			v1alpha1.Bootstrap{Members: []string{"my-db-1", "my-db-2", "my-db-3"}}},
		"a witness among them": {witnessed{}, v1alpha1.DatabaseClusterSpec{},
			v1alpha1.Bootstrap{Members: []string{"my-db-1", "my-db-2", "my-db-3", "my-db-4"},
				Witnesses: []string{"my-db-4"}}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.DatabaseCluster{Spec: c.spec}
			cluster.Name, cluster.Spec.Members = "my-db", 3
			if err := Found(c.engine, cluster, strings.NewReader("12345678abcdefgh")); err != nil {
				t.Fatal(err)
			}
			want := v1alpha1.DatabaseClusterStatus{ID: "6162636465666768", Bootstrap: &c.want}
			c.want.Token = "3132333435363738"
			if diff := cmp.Diff(want, cluster.Status); diff != "" {
				t.Error(diff)
			}
		})
	}
	if Found(opstest.Stub{}, &v1alpha1.DatabaseCluster{}, strings.NewReader("12345678short")) == nil {
		t.Error("a token was made of too little chance")
	}
}
