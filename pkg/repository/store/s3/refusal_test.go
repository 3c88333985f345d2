package s3_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/s3"
)

// TestCutRefusal: a refusal whose connection is cut before all of it was read is asked for again.
func TestCutRefusal(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 1 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, "<Error><Code>AccessDenied</Code></Error>")
			return
		}
		c, out, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = out.WriteString("HTTP/1.1 403 Forbidden\r\nContent-Length: 1000\r\n\r\n<Error>")
		_ = errors.Join(out.Flush(), c.Close())
	}))
	t.Cleanup(server.Close)
	s, err := s3.Open(s3.Config{Bucket: "backups", Endpoint: server.URL, Region: "us-east-1", PathStyle: true,
		Credentials: func(string) string { return "any" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "key", []byte("content"), store.Options{}); !errors.Is(err, store.ErrDenied) {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	if asked.Load() != 2 {
		t.Errorf("%d requests", asked.Load())
	}
}
