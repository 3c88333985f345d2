package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestFound(t *testing.T) {
	for name, c := range map[string]struct {
		restore *v1alpha1.RestoreSource
		want    []string
	}{
		"all members found together":         {nil, []string{"my-db-1", "my-db-2", "my-db-3"}},
		"a restored cluster begins with one": {&v1alpha1.RestoreSource{Backup: "b"}, []string{"my-db-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1alpha1.DatabaseCluster{Spec: v1alpha1.DatabaseClusterSpec{Members: 3, RestoreFrom: c.restore}}
			cluster.Name = "my-db"
			if err := Found(cluster, strings.NewReader("12345678abcdefgh")); err != nil {
				t.Fatal(err)
			}
			want := v1alpha1.DatabaseClusterStatus{ID: "6162636465666768", Formation: &v1alpha1.Formation{Token: "3132333435363738", Members: c.want}}
			if diff := cmp.Diff(want, cluster.Status); diff != "" {
				t.Error(diff)
			}
		})
	}
	if Found(&v1alpha1.DatabaseCluster{}, strings.NewReader("12345678short")) == nil {
		t.Error("a token was made of too little chance")
	}
}
