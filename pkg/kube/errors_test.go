package kube_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

func TestUnauthorized(t *testing.T) {
	s := newAPIServer(t)
	s.answer = &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: 401,
		Message: "Unauthorized"}
	_, err := store.NewConfigMaps(s.client(t, kube.Options{})).GetCluster(t.Context(), "shop", "db")
	var unauthorized *kube.UnauthorizedError
	if !errors.As(err, &unauthorized) || !strings.Contains(kube.Hint(err), "log in") {
		t.Errorf("got %v with hint %q", err, kube.Hint(err))
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
	c, err := kube.New(&rest.Config{Host: address, Timeout: 5 * time.Second}, kube.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.NewConfigMaps(c).GetCluster(t.Context(), "shop", "db")
	var unreachable *kube.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Server != address || kube.Hint(err) == "" {
		t.Errorf("got %v with hint %q, want an UnreachableError for %s", err, kube.Hint(err), address)
	}
}

func TestExplainConfig(t *testing.T) {
	if kube.ExplainConfig(nil) != nil {
		t.Error("no error became one")
	}
	err := kube.ExplainConfig(errors.New(`context "prod" does not exist`))
	if kube.Hint(err) == "" {
		t.Errorf("%v has no hint", err)
	}
}
