package kube

import "fmt"

// ForbiddenError says which right was missing. Hint names the role that grants it.
type ForbiddenError struct {
	Verb, Resource, Namespace, Name string
	Err                             error
}

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("not allowed to %s %s in namespace %s", e.Verb, e.Resource, e.Namespace)
}

// Unwrap gives the API server's own error.
func (e *ForbiddenError) Unwrap() error { return e.Err }
