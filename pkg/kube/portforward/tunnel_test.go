package portforward

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// answering is a client of an API server that answers every upgrade with a status.
func answering(t *testing.T, status metav1.Status, seen *[]string) *kube.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r.Method)
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status)
	}))
	t.Cleanup(server.Close)
	c, err := kube.New(&rest.Config{Host: server.URL}, kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRefusedUpgrades(t *testing.T) {
	t.Run("a missing right is named, after both ways were tried", func(t *testing.T) {
		var seen []string
		c := answering(t, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden,
			Code:    http.StatusForbidden,
			Message: `pods "db-1-0" is forbidden: User "bob" cannot create resource "pods/portforward" in API group "" in the namespace "shop"`}, &seen)
		_, err := New(c)(t.Context(), "shop", "db-1-0")
		var forbidden *kube.ForbiddenError
		if !errors.As(err, &forbidden) || forbidden.User != "bob" || forbidden.Resource != "pods/portforward" {
			t.Errorf("got %v, want a ForbiddenError", err)
		}
		if got := strings.Join(seen, " "); got != "GET POST" {
			t.Errorf("requests %s", got)
		}
	})
	t.Run("a missing pod is asked for once", func(t *testing.T) {
		var seen []string
		c := answering(t, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
			Code: http.StatusNotFound, Message: `pods "db-1-0" not found`}, &seen)
		if _, err := New(c)(t.Context(), "shop", "db-1-0"); !errors.Is(err, kube.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		if got := strings.Join(seen, " "); got != "GET" {
			t.Errorf("requests %s", got)
		}
	})
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	c, err := kube.New(&rest.Config{Host: server.URL}, kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := New(c)(ctx, "shop", "db-1-0"); !errors.Is(err, kube.ErrTimeout) {
		t.Errorf("got %v, want ErrTimeout", err)
	}
}
