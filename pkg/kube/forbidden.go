package kube

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ForbiddenError is a request that the API server understood and refused:
// either the user lacks the right, or admission (a quota, Pod Security, a
// policy) denied the object.
type ForbiddenError struct {
	// Verb and Resource as RBAC spells them.
	Verb, Resource, Namespace, Name string
	// User as the server names them; "" if admission refused, or it did not say.
	User string
	// Denied is admission's reason; "" if the right is missing.
	Denied string
	Err    error
}

func (e *ForbiddenError) Error() string {
	what := objectName(e.Resource, e.Namespace, e.Name)
	if e.Denied != "" {
		return fmt.Sprintf("%s %s: admission refused it: %s", e.Verb, what, e.Denied)
	}
	who := "you"
	if e.User != "" {
		who = fmt.Sprintf("user %q", e.User)
	}
	return fmt.Sprintf("%s may not %s %s", who, e.Verb, what)
}

// Unwrap returns the server's answer.
func (e *ForbiddenError) Unwrap() error { return e.Err }

// Hint names the right that is missing and how an administrator grants it.
func (e *ForbiddenError) Hint() string {
	if e.Denied != "" {
		return "ask an administrator about the quota or policy that it names"
	}
	user := e.User
	if user == "" {
		user = "<user>"
	}
	if e.Namespace == "" {
		return fmt.Sprintf("needs: verb %q on %q in all namespaces; or name one with --namespace", e.Verb, e.Resource)
	}
	subject := "--user=" + user
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
	}
	return fmt.Sprintf("needs: verb %q on %q in namespace %q; the stock ClusterRole edit grants it: kubectl create "+
		"rolebinding dbop-edit --clusterrole=edit %s --namespace=%s",
		e.Verb, e.Resource, e.Namespace, subject, e.Namespace)
}

// Denied returns why the API server will not have what was asked of it:
// admission's reason, or what is invalid; false for any other failure, a
// missing right included.
func Denied(err error) (string, bool) {
	if f, ok := errors.AsType[*ForbiddenError](err); ok {
		return f.Denied, f.Denied != ""
	}
	if apierrors.IsInvalid(err) {
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			return status.Status().Message, true
		}
	}
	return "", false
}

// forbidden tells a missing right from an object that admission denied: both
// are 403 with the same reason, only the authorizer's words differ.
func forbidden(r RequestError) error {
	e := &ForbiddenError{Verb: r.Verb, Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, Err: r.Err}
	message := r.Err.Error()
	var status apierrors.APIStatus
	if errors.As(r.Err, &status) {
		message = status.Status().Message
	}
	before, after, ok := strings.Cut(message, `User "`)
	user, rest, closed := strings.Cut(after, `"`)
	if ok && closed && strings.HasPrefix(rest, " cannot ") {
		e.User = user
		return e
	}
	if _, reason, ok := strings.Cut(before, " is forbidden: "); ok && reason != "" {
		e.Denied = reason
	}
	return e
}
