package executor

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestInitialSQL: the entries of a secret are carried out in their order for the user that is named, and what is wrong
// with them is told with what to type.
func TestInitialSQL(t *testing.T) {
	long := strings.Repeat("x", mostInitialSQL)
	for _, test := range []struct {
		name    string
		entries map[string]string
		limited bool
		want    string
	}{
		{"two files", map[string]string{"2.sql": "b", "1.sql": "a -- last", "README": "none"}, false, ""},
		{"none", map[string]string{"sql": "a"}, false, "has no entry whose name ends in .sql"},
		{"too long", map[string]string{"1.sql": long}, false, "524288 are the most"},
		{"no secret", nil, false, "there is no such secret"},
		{"not accepted", map[string]string{"1.sql": "refused"}, false, "was not carried out: line 1: refused"},
		{"nobody offered it", map[string]string{"1.sql": "a"}, true, kube.ErrNotOffered.Error()},
	} {
		b := plain(t)
		b.Op = opstest.Operation(v1alpha1.VerbCreate)
		c, l := b.Cluster(), liveOf(b)
		c.Spec.Auth.Users = []v1alpha1.DatabaseUser{{Name: "shop", Prefix: "sales"}}
		c.Spec.InitialSQL = &v1alpha1.InitialSQL{Secret: "schema", User: "shop"}
		c.Status.Bootstrap.Unfinished = true
		b.Must(b.Store().UpdateCluster(t.Context(), c))
		l.Client.Behalf.Limited = test.limited
		if test.entries != nil {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "schema"},
				Data: map[string][]byte{}}
			for name, text := range test.entries {
				s.Data[name] = []byte(text)
			}
			b.Must(l.Client.API.Create(t.Context(), s))
		}
		r, err := l.Perform(t.Context(), observation(b, l), ops.Step{Action: ops.ActionInitialSQL, User: "shop"},
			func(int64, int64) {})
		if test.want == "" {
			b.Must(err)
			want := `run "a -- last\n;\nb\n;\n" once as shop in "sales"`
			if calls := strings.Join(b.Database.Last().Calls, " "); !strings.Contains(calls, want) {
				t.Errorf("%s: it does %s, want %s", test.name, calls, want)
			}
			if r.Facts[v1alpha1.FactInitialSQL] == "" {
				t.Errorf("%s leaves the facts %v", test.name, r.Facts)
			}
			if b.Cluster().Status.Bootstrap.Unfinished {
				t.Errorf("%s: the record of the cluster does not say that it was done", test.name)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		hint := "correct the secret, then: kubectl dbop resume db"
		if refused, ok := errors.AsType[*ops.Error](err); ok && refused.Hint != hint {
			t.Errorf("%s: the hint is %q", test.name, refused.Hint)
		}
	}
}
