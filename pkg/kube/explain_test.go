package kube

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		{"stale", apierrors.NewConflict(r, "db-1", errors.New("old")), ErrConflict, "get statefulsets.apps shop/db-1: " +
			"changed by somebody else in the meantime"},
		{"slow server", apierrors.NewTimeoutError("slow", 1), ErrTimeout,
			"get statefulsets.apps shop/db-1: the API server did not answer in time"},
		{"deadline", context.DeadlineExceeded, ErrTimeout,
			"get statefulsets.apps shop/db-1: the API server did not answer " +
				"in time"},
		{"cancelled", context.Canceled, context.Canceled, "get statefulsets.apps shop/db-1: context canceled"},
		{"anything else", errors.New("odd"), nil, "get statefulsets.apps shop/db-1: odd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := explain(tt.err, RequestError{Verb: "get", Resource: r.String(), Namespace: "shop", Name: "db-1"},
				"https://server")
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
