package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Errors that callers compare with errors.Is.
var (
	// ErrNotFound: the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists: an object of that name exists already.
	ErrExists = errors.New("exists already")
	// ErrConflict: somebody else wrote in between; read again.
	ErrConflict = errors.New("changed by somebody else in the meantime")
	// ErrDryRun: a write was refused because this is a dry run.
	ErrDryRun = errors.New("dry run: nothing is written")
	// ErrForeign: an object of that name exists and is not this cluster's.
	ErrForeign = errors.New("the name is taken by an object that is not this cluster's")
	// ErrAuthority: a person's or an issuer's authority can't be used.
	ErrAuthority = errors.New("no authority to sign with")
	// ErrIssuing: an issuer was asked for an authority and has not answered yet.
	ErrIssuing = errors.New("not issued yet")
	// ErrTimeout: the API server did not answer in time.
	ErrTimeout = errors.New("the API server did not answer in time")
)

// RequestError is a failed request: what was attempted on what, and what came of it.
type RequestError struct {
	// Verb and Resource as RBAC spells them: "create" and "statefulsets.apps".
	Verb, Resource, Namespace, Name string
	// Kind is the sentinel error it amounts to, nil for any other failure.
	Kind error
	// Err is the original error, nil if no request was made.
	Err error
}

func (e *RequestError) Error() string {
	why := e.Err
	if e.Kind != nil {
		why = e.Kind
	}
	return fmt.Sprintf("%s %s: %v", e.Verb, e.object(), why)
}

func (e *RequestError) object() string { return objectName(e.Resource, e.Namespace, e.Name) }

// Unwrap makes errors.Is see both the sentinel and the original error.
func (e *RequestError) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

func objectName(resource, namespace, name string) string {
	switch {
	case name == "" && namespace == "":
		return resource
	case name == "":
		return resource + " in namespace " + namespace
	case namespace == "":
		return resource + " " + name
	default:
		return fmt.Sprintf("%s %s/%s", resource, namespace, name)
	}
}

// UnreachableError says that the API server could not be asked at all.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the API server %s can't be reached: %v", e.Server, e.Err)
}

// Unwrap returns the network's own error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Hint is what to try next.
func (e *UnreachableError) Hint() string {
	return "check the address, the network and the VPN: kubectl cluster-info"
}

// UnauthorizedError says that the API server does not know who asks.
type UnauthorizedError struct{ Err error }

func (e *UnauthorizedError) Error() string { return "the API server rejects these credentials" }

// Unwrap returns the server's answer.
func (e *UnauthorizedError) Unwrap() error { return e.Err }

// Hint is what to try next.
func (e *UnauthorizedError) Hint() string {
	return "they may have expired: log in again, then try kubectl auth whoami"
}

// Hint returns what to type or do about an error of this package, "" if there
// is nothing to say.
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// explain returns the outcome of a request as an error of this package. The
// original stays in the chain.
func explain(err error, r RequestError, server string) error {
	r.Err = err
	switch {
	case lacksNamespace(err, r):
		return &NamespaceError{Namespace: r.Namespace}
	case apierrors.IsNotFound(err):
		r.Kind = ErrNotFound
	case apierrors.IsAlreadyExists(err):
		r.Kind = ErrExists
	case apierrors.IsConflict(err):
		r.Kind = ErrConflict
	case apierrors.IsForbidden(err):
		return forbidden(r)
	case apierrors.IsUnauthorized(err):
		r.Err = &UnauthorizedError{Err: err}
	case errors.Is(err, context.Canceled):
		// Not the server's doing.
	case isTimeout(err):
		r.Kind = ErrTimeout
	case isUnreachable(err):
		r.Err = &UnreachableError{Server: server, Err: root(err)}
	}
	return &r
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, errNoAnswer) || errors.Is(err, context.DeadlineExceeded) || apierrors.IsTimeout(err) ||
		apierrors.IsServerTimeout(err) ||
		(errors.As(err, &n) && n.Timeout() && !isUnreachable(err))
}

// isUnreachable reports whether no HTTP answer came for want of a connection.
func isUnreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.As(err, &dns) || (errors.As(err, &op) && op.Op == "dial") ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err)
}

// root drops the request line that net/http puts before a network error.
func root(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// Explain returns the failure of a request that was made beside the Client, with
// its configuration, as an error as the Client's own; nil stays nil.
func (c *Client) Explain(err error, attempted RequestError) error {
	if err == nil {
		return nil
	}
	return explain(err, attempted, c.config.Host)
}
