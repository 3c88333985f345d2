package kube_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// apiServer records requests and answers with what is asked, or with a fixed status.
type apiServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	agent    string
	answer   *metav1.Status
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
		s.agent = r.UserAgent()
		answer := s.answer
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if answer != nil {
			answer.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(int(answer.Code))
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
			_, _ = w.Write([]byte(
				`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview","status":{"userInfo":{"username":"alice"}}}`))
		case r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "labelSelector"):
			_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","items":[]}`))
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(
				`{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"not there"}`))
		default:
			_, _ = w.Write([]byte(
				`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"db","namespace":"shop"}}`))
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *apiServer) client(t *testing.T, o kube.Options) *kube.Client {
	t.Helper()
	c, err := kube.New(&rest.Config{Host: s.URL}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientAsksOnlyForWhatItNeeds(t *testing.T) {
	s := newAPIServer(t)
	c := s.client(t, kube.Options{UserAgent: kube.UserAgent("v1.2.3", "abcdef0")})
	if _, err := store.NewConfigMaps(c).ActiveOperations(t.Context(), "shop", "db"); err != nil {
		t.Fatal(err)
	}
	if err := workload.ApplyBudget(t.Context(), c, kubetest.Cluster(), 2); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"GET /api/v1/namespaces/shop/configmaps?labelSelector=dbop.dev%2Fcluster%3Ddb%2Cdbop.dev%2Fkind%3Doperation" +
			"%2Cdbop.dev%2Fphase+in+%28Cancelling%2CPaused%2CRunning%29",
		"GET /apis/policy/v1/namespaces/shop/poddisruptionbudgets/db",
		"PATCH /apis/policy/v1/namespaces/shop/poddisruptionbudgets/db?fieldManager=kubectl-dbop&force=true",
	}
	if diff := cmp.Diff(want, s.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if s.agent != "kubectl-dbop/v1.2.3 (abcdef0)" {
		t.Errorf("user agent %q", s.agent)
	}
	if c.Requests() != int64(len(want)) {
		t.Errorf("counted %d requests, want %d", c.Requests(), len(want))
	}
}

func TestDryRun(t *testing.T) {
	t.Run("client makes no writing request", func(t *testing.T) {
		s := newAPIServer(t)
		c := s.client(t, kube.Options{DryRun: kube.DryRunClient})
		err := workload.ApplyBudget(t.Context(), c, kubetest.Cluster(), 2)
		if !errors.Is(err, kube.ErrDryRun) {
			t.Errorf("apply: %v, want ErrDryRun", err)
		}
		if who := c.Whoami(t.Context()); who != "alice" {
			t.Errorf("whoami %q: asking is no write", who)
		}
		for _, r := range s.requests {
			if strings.HasPrefix(r, "PATCH") {
				t.Errorf("dry run sent %s", r)
			}
		}
	})
	t.Run("server marks every write", func(t *testing.T) {
		s := newAPIServer(t)
		if err := workload.ApplyBudget(t.Context(), s.client(t, kube.Options{DryRun: kube.DryRunServer}),
			kubetest.Cluster(),
			2); err != nil {
			t.Fatal(err)
		}
		if last := s.requests[len(s.requests)-1]; !strings.Contains(last, "dryRun=All") {
			t.Errorf("last request %s lacks dryRun=All", last)
		}
	})
}

func TestNewWithoutConfig(t *testing.T) {
	_, err := kube.New(nil, kube.Options{})
	var config *kube.ConfigError
	if !errors.As(err, &config) || kube.Hint(err) == "" {
		t.Errorf("got %v with hint %q, want a ConfigError with a hint", err, kube.Hint(err))
	}
}
