package gcs

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// silent takes requests and answers none of the first ones.
func silent(t *testing.T, first int32) (*Store, *atomic.Int32) {
	t.Helper()
	requests := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if requests.Add(1) <= first {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(`{"name":"x","size":"7","updated":"2026-11-23T00:00:00Z"}`))
	}))
	t.Cleanup(server.Close)
	s, err := Open(Config{Bucket: "b", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := s.client.Transport.(*http.Transport)
	if !ok || transport.ResponseHeaderTimeout == 0 {
		t.Fatal("nothing bounds how long an answer takes")
	}
	transport.ResponseHeaderTimeout = 50 * time.Millisecond
	s.tokens, s.wait = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "x"}), time.Millisecond
	return s, requests
}

// TestNoAnswer: a request without an answer is repeated, as one whose connection broke, until the caller gives up.
func TestNoAnswer(t *testing.T) {
	s, requests := silent(t, 2)
	if o, err := s.Head(t.Context(), "x"); err != nil || o.Size != 7 || requests.Load() != 3 {
		t.Errorf("after %d requests: %+v, %v", requests.Load(), o, err)
	}
	s, requests = silent(t, 1<<20)
	if _, err := s.Head(t.Context(), "x"); err == nil || requests.Load() != attempts {
		t.Errorf("after %d requests: %v", requests.Load(), err)
	}
	s, requests = silent(t, 1<<20)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := s.Head(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || requests.Load() > 1 {
		t.Errorf("after %d requests: %v", requests.Load(), err)
	}
}
