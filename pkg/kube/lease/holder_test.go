package lease

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestHoldingOf(t *testing.T) {
	t.Parallel()
	seconds, now := int32(15), time.Now()
	lease := func(holder string, renewed time.Duration, process string) *coordinationv1.Lease {
		at := metav1.NewMicroTime(now.Add(-renewed))
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db.dbop",
			Annotations: map[string]string{kube.AnnotationOperation: "upgrade", kube.AnnotationProcess: process}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &at,
				RenewTime: &at}}
	}
	self, ok := processTable{root: "/proc"}.self()
	dead := self
	dead.Start = "1"
	for name, row := range map[string]struct {
		lease *coordinationv1.Lease
		want  string
	}{
		"none":                   {nil, ""},
		"given back":             {lease("", 0, ""), ""},
		"held":                   {lease("ada@laptop/1f", 5*time.Second, self.encode()), "ada@laptop"},
		"late":                   {lease("ada@laptop/1f", 30*time.Second, ""), "ada@laptop"},
		"silent for long":        {lease("ada@laptop/1f", 61*time.Second, ""), ""},
		"its process is no more": {lease("ada@laptop/1f", 5*time.Second, dead.encode()), ""},
	} {
		if !ok && row.lease != nil && row.lease.Annotations[kube.AnnotationProcess] != "" {
			continue
		}
		c, _ := kubetest.New(t, interceptor.Funcs{})
		if row.lease != nil {
			c, _ = kubetest.New(t, interceptor.Funcs{}, row.lease)
		}
		got, err := ReadHolding(t.Context(), c, "shop", "db", Cluster)
		if err != nil || got.Holder != row.want || row.want != "" && got.Operation != "upgrade" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
