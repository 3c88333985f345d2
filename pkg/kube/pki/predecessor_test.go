package pki

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// TestPredecessor: a cluster that takes the place of another one has its authority, and the names of its services. Once
// the other one is deleted, an authority that was lost is made again.
func TestPredecessor(t *testing.T) {
	former, err := NewAuthority("shop/former", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cluster := kubetest.Cluster()
	cluster.Spec.Source = &v1alpha1.Source{Cluster: "former"}
	cluster.Status.Bootstrap = &v1alpha1.Bootstrap{}
	c, _ := kubetest.New(t, interceptor.Funcs{})
	if _, err := foundingAuthority(t.Context(), c, cluster); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("without the authority of the former cluster: %v", err)
	}
	cluster.Status.Bootstrap.ClusterID = "formed"
	if p, err := foundingAuthority(t.Context(), c, cluster); err != nil || len(p.Key) == 0 {
		t.Errorf("an authority that was lost is not made again: %v", err)
	}
	secret := given(t, v1alpha1.CASecret("former"), former)
	c, _ = kubetest.New(t, interceptor.Funcs{}, secret)
	p, err := foundingAuthority(t.Context(), c, cluster)
	if err != nil || !bytes.Equal(p.Certificate, former.Certificate) {
		t.Errorf("it has another authority: %v", err)
	}
	for _, name := range []string{"former-client", "former-client.shop.svc", "former-readonly.shop"} {
		if !slices.Contains(MemberHosts(cluster, "db-1"), name) {
			t.Errorf("a certificate does not hold %s", name)
		}
	}
	secret.Data[nextCertificateKey] = former.Certificate
	c, _ = kubetest.New(t, interceptor.Funcs{}, secret)
	if _, err := foundingAuthority(t.Context(), c, cluster); !errors.Is(err, kube.ErrAuthority) {
		t.Errorf("in the middle of a rotation: %v", err)
	}
}
