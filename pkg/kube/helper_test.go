package kube

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestHelperLife(t *testing.T) {
	c, _ := newFake(t, interceptor.Funcs{})
	in := HelperSpec{Name: "dbop-repository-1", Namespace: "shop", Purpose: PurposeRepository, Image: "dbop:v1"}
	for range 2 {
		if err := c.CreateHelper(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	h, err := c.Helper(t.Context(), "shop", in.Name)
	if err != nil || h.Purpose != PurposeRepository || h.Running {
		t.Errorf("helper %+v, %v", h, err)
	}
	for range 2 {
		if err := c.DeleteHelper(t.Context(), "shop", in.Name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Helper(t.Context(), "shop", in.Name); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}
