package kube

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// NamespaceError says that a namespace does not exist. It is not ErrNotFound:
// an object in it that is not found may well be made, and this one can't.
type NamespaceError struct{ Namespace string }

func (e *NamespaceError) Error() string {
	return fmt.Sprintf("namespace %s does not exist", e.Namespace)
}

// Hint is what to type next.
func (e *NamespaceError) Hint() string {
	return "check the name, or create it: kubectl create namespace " + e.Namespace
}

// lacksNamespace reports whether an object could not be written because its
// namespace does not exist.
func lacksNamespace(err error, r RequestError) bool {
	var status apierrors.APIStatus
	if r.Namespace == "" || !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	d := status.Status().Details
	return d != nil && d.Kind == "namespaces"
}
