package helperpod

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestHelperLife(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	in := Spec{Name: "dbop-repository-1", Namespace: "shop", Purpose: PurposeRepository, Image: "dbop:v1"}
	for range 2 {
		if err := Create(t.Context(), c, in); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Get(t.Context(), c, "shop", in.Name)
	if err != nil || h.Purpose != PurposeRepository || h.Running {
		t.Errorf("helper %+v, %v", h, err)
	}
	for range 2 {
		if err := Delete(t.Context(), c, "shop", in.Name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Get(t.Context(), c, "shop", in.Name); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}
