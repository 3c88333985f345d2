package cluster_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// TestRecordThatCantBeUsed: every command on a cluster whose record was deleted
// or damaged names the command that puts it back, and that command does so.
func TestRecordThatCantBeUsed(t *testing.T) {
	for name, row := range map[string]struct {
		// content and unlabel damage the record; without both it is deleted.
		content string
		unlabel bool
		// volumes: no member has a StatefulSet any more.
		volumes bool
		hint    string
		says    string
		code    int
	}{
		"deleted": {hint: "kubectl dbop -n shop repair my-db",
			says: "the record of my-db (configmap my-db.dbop) is missing, its members still run", code: exit.Refused},
		"volumes alone": {volumes: true, hint: "kubectl dbop -n shop create my-db --from-volumes",
			says: "volumes of it are kept: my-db-1", code: exit.NotFound},
		"empty": {content: "{}", hint: "kubectl dbop -n shop repair my-db",
			says: "the engine or the number of members is missing", code: exit.Refused},
		"not JSON": {content: "{", hint: "kubectl dbop -n shop repair my-db",
			says: "the record is damaged: configmap shop/my-db.dbop", code: exit.Refused},
		"without labels": {unlabel: true, hint: "kubectl dbop -n shop repair my-db",
			says: `label dbop.dev/kind is "", not "cluster"`, code: exit.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			b.CreateCluster("my-db")
			c, err := b.Records(kube.DryRunNone).GetCluster(t.Context(), "shop", "my-db")
			if err != nil {
				t.Fatal(err)
			}
			if err := workload.ApplyVolume(t.Context(), kube.Wrap(b.API, kube.Options{}), c, "my-db-1"); err != nil {
				t.Fatal(err)
			}
			w := &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "my-db-1",
					Labels:      map[string]string{"dbop.dev/cluster": "my-db"},
					Annotations: map[string]string{kube.AnnotationClusterID: c.Status.ID}}}
			if err := b.API.Create(t.Context(), w); !row.volumes && err != nil || row.volumes &&
				b.API.Delete(t.Context(), w) != nil {
				t.Fatal(err)
			}
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "my-db.dbop"}}
			if err := b.API.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				t.Fatal(err)
			}
			switch {
			case row.unlabel:
				m.Labels = nil
				err = b.API.Update(t.Context(), m)
			case row.content != "":
				m.Data["cluster.json"] = row.content
				err = b.API.Update(t.Context(), m)
			default:
				err = b.API.Delete(t.Context(), m)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.Writes = nil
			for _, line := range []string{"status", "diagnose", "status my-db", "diagnose my-db", "restart my-db",
				"delete my-db --yes", "plan scale my-db --members 5", "stop my-db --yes"} {
				r := b.Run(strings.Fields(line)...)
				if r.Code != row.code || !strings.Contains(r.Err, row.says) || !strings.Contains(r.Err, row.hint) ||
					strings.Contains(r.Err, "list -A") {
					t.Errorf("%s: exit %d\n%s%s", line, r.Code, r.Out, r.Err)
				}
			}
			if len(b.Writes) > 0 {
				t.Errorf("wrote %v", b.Writes)
			}
			if r := b.Run("repair", "my-db", "--progress", "none"); r.Code != exit.Done {
				t.Fatalf("repair: exit %d\n%s%s", r.Code, r.Out, r.Err)
			}
			again, err := b.Records(kube.DryRunNone).GetCluster(t.Context(), "shop", "my-db")
			if err != nil || again.Status.ID != c.Status.ID || again.Spec.Members != c.Spec.Members {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}
