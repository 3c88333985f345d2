package kube

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestNoNamespace: a write into a namespace that does not exist names it, and
// is not mistaken for an object that is missing.
func TestNoNamespace(t *testing.T) {
	t.Parallel()
	request := RequestError{Verb: "create", Resource: "leases.coordination.k8s.io", Namespace: "shop", Name: "db.dbop"}
	missing := func(resource, name string) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	}
	err := explain(fmt.Errorf("wrapped: %w", missing("namespaces", "shop")), request, "")
	n, ok := errors.AsType[*NamespaceError](err)
	if !ok || n.Namespace != "shop" || errors.Is(err, ErrNotFound) || Hint(err) == "" {
		t.Errorf("got %#v", err)
	}
	if err := explain(missing("leases", "db.dbop"), request, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %#v", err)
	}
}
