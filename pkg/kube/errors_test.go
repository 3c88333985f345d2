package kube

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestExplain(t *testing.T) {
	r := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	tests := []struct {
		name string
		err  error
		is   error
		want string
	}{
		{"missing", apierrors.NewNotFound(r, "db-1"), ErrNotFound, "get statefulsets.apps shop/db-1: not found"},
		{"taken", apierrors.NewAlreadyExists(r, "db-1"), ErrExists, "get statefulsets.apps shop/db-1: exists already"},
		{"stale", apierrors.NewConflict(r, "db-1", errors.New("old")), ErrConflict, "get statefulsets.apps shop/db-1: changed by somebody else in the meantime"},
		{"slow server", apierrors.NewTimeoutError("slow", 1), ErrTimeout, "get statefulsets.apps shop/db-1: the API server did not answer in time"},
		{"deadline", context.DeadlineExceeded, ErrTimeout, "get statefulsets.apps shop/db-1: the API server did not answer in time"},
		{"cancelled", context.Canceled, context.Canceled, "get statefulsets.apps shop/db-1: context canceled"},
		{"anything else", errors.New("odd"), nil, "get statefulsets.apps shop/db-1: odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := explain(tt.err, RequestError{Verb: "get", Resource: r.String(), Namespace: "shop", Name: "db-1"}, "https://server")
			if got.Error() != tt.want {
				t.Errorf("message %q, want %q", got, tt.want)
			}
			if tt.is != nil && !errors.Is(got, tt.is) {
				t.Errorf("%v is not %v", got, tt.is)
			}
			if !errors.Is(got, tt.err) {
				t.Error("the original error is lost")
			}
		})
	}
}

func TestUnauthorized(t *testing.T) {
	s := newAPIServer(t)
	s.answer = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: 401, Message: "Unauthorized"}
	_, err := NewConfigMapStore(s.client(t, Options{})).GetCluster(t.Context(), "shop", "db")
	var unauthorized *UnauthorizedError
	if !errors.As(err, &unauthorized) || !strings.Contains(Hint(err), "log in") {
		t.Errorf("got %v with hint %q", err, Hint(err))
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := New(&rest.Config{Host: address, Timeout: 5 * time.Second}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewConfigMapStore(c).GetCluster(t.Context(), "shop", "db")
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Server != address || Hint(err) == "" {
		t.Errorf("got %v with hint %q, want an UnreachableError for %s", err, Hint(err), address)
	}
}

func TestExplainConfig(t *testing.T) {
	if ExplainConfig(nil) != nil {
		t.Error("no error became one")
	}
	err := ExplainConfig(errors.New(`context "prod" does not exist`))
	if Hint(err) == "" {
		t.Errorf("%v has no hint", err)
	}
}
