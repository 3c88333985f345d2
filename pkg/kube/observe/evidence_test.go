package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestConcerns(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"db": true, "db-1": true, "db-1-0": true, "db-client": true, "db.dbop": true,
		"db.dbop-op-1": true, "dbx": false, "other": false, "dbx-1": false} {
		if got := concerns(name, "db"); got != want {
			t.Errorf("%s concerns db: %v, want %v", name, got, want)
		}
	}
}

// TestEvidenceOfCustoms: the custom resource of a cluster belongs to it, and
// what asks for backups of it; of one without nobody asks for such kinds.
func TestEvidenceOfCustoms(t *testing.T) {
	t.Parallel()
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db.dbop",
		Labels: map[string]string{v1alpha1.LabelCluster: "db"}}}
	custom := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	asks := func(name, cluster string) *v1alpha1.DatabaseBackup {
		return &v1alpha1.DatabaseBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec: v1alpha1.DatabaseBackupSpec{Cluster: cluster}}
	}
	for name, row := range map[string]struct {
		under bool
		err   error
		want  string
		gaps  int
	}{
		"under a custom resource":       {true, nil, "DatabaseBackup one, DatabaseCluster db", 0},
		"by a person who may not":       {true, errors.New("no"), "", 2},
		"a cluster of the command line": {false, errors.New("no"), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := record.DeepCopy()
			if row.under {
				record.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
			}
			c, _ := kubetest.New(t, interceptor.Funcs{
				Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, o client.Object,
					opts ...client.GetOption) error {
					if _, ok := o.(*v1alpha1.DatabaseCluster); ok && row.err != nil {
						return row.err
					}
					return api.Get(ctx, key, o, opts...)
				},
				List: func(ctx context.Context, api client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
					if _, ok := l.(*v1alpha1.DatabaseBackupList); ok && row.err != nil {
						return row.err
					}
					return api.List(ctx, l, opts...)
				},
			}, record, custom.DeepCopy(), asks("one", "db"), asks("two", "other"))
			e := CollectEvidence(t.Context(), c, "shop", "db")
			var got []string
			for _, o := range e.Objects {
				if gvk := o.GetObjectKind().GroupVersionKind(); gvk.Group == v1alpha1.GroupVersion().Group {
					got = append(got, gvk.Kind+" "+o.GetName())
				}
			}
			slices.Sort(got)
			if strings.Join(got, ", ") != row.want || len(e.Missing) != row.gaps {
				t.Errorf("%v, missing %v", got, e.Missing)
			}
		})
	}
}
