package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// server is one resumable upload, as Google documents it. fault, if set, is asked about each request, by number: it
// returns how many bytes of the body arrive (-1 for all), and the status of the answer: 0 for the true one, -1 for a
// connection that breaks.
type server struct {
	fault    func(n int, span string) (bytes, status int)
	n        int
	have     []byte
	made     bool
	wrongSum bool
	deleted  string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		w.Header().Set("Location", "https://elsewhere.example.com"+r.URL.Path+"?upload_id=1")
		return
	case http.MethodDelete:
		s.deleted = r.URL.Query().Get("ifGenerationMatch")
		return
	}
	s.n++
	body, _ := io.ReadAll(r.Body)
	span := r.Header.Get("Content-Range")
	take, status := -1, 0
	if s.fault != nil {
		take, status = s.fault(s.n, span)
	}
	if take >= 0 {
		body = body[:min(take, len(body))]
	}
	var from, to int
	sizes, total, _ := strings.Cut(strings.TrimPrefix(span, "bytes "), "/")
	if n, _ := fmt.Sscanf(sizes, "%d-%d", &from, &to); n == 2 && from != len(s.have) {
		http.Error(w, "a hole", http.StatusBadRequest)
		return
	}
	s.have = append(s.have, body...)
	s.made = s.made || total == strconv.Itoa(len(s.have))
	switch {
	case status == -1:
		panic(http.ErrAbortHandler)
	case status > 0:
		w.WriteHeader(status)
	case s.made:
		sum := crc32c(s.have)
		if s.wrongSum {
			sum = crc32c(nil)
		}
		_ = json.NewEncoder(w).Encode(resource{Name: "x", Size: int64(len(s.have)), CRC32C: sum, Generation: "42"})
	default:
		if len(s.have) > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", len(s.have)-1))
		}
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

func (s *server) open(t *testing.T) *Store {
	t.Helper()
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	out, err := Open(Config{Bucket: "b", Endpoint: http.URL})
	if err != nil {
		t.Fatal(err)
	}
	out.tokens, out.wait = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "x"}), time.Millisecond
	return out
}

func send(ctx context.Context, s *Store, body []byte) error {
	u, err := s.Upload(ctx, "x", store.Options{})
	if err != nil {
		return err
	}
	parts := 0
	for ; parts*store.PartSize < len(body); parts++ {
		if err := u.Part(ctx, parts, body[parts*store.PartSize:min((parts+1)*store.PartSize, len(body))]); err != nil {
			return err
		}
	}
	return u.Commit(ctx, parts)
}

// TestResume breaks uploads in every way that the protocol provides for: they end with all bytes, once each.
func TestResume(t *testing.T) {
	const some = 3 << 18
	for name, fault := range map[string]func(n int, span string) (int, int){
		"none":                           nil,
		"busy":                           func(n int, _ string) (int, int) { return -(n % 2), 503 * (n % 3 % 2) },
		"half of a part":                 func(n int, _ string) (int, int) { return []int{-1, some}[n%2], 0 },
		"half of a part, and cut":        func(n int, _ string) (int, int) { return []int{-1, some}[n%2], []int{0, -1}[n%2] },
		"nothing of a part, and cut":     func(n int, _ string) (int, int) { return []int{-1, 0, -1}[n%3], -(n % 3 % 2) },
		"all of a part, no answer":       func(n int, _ string) (int, int) { return -1, []int{0, -1}[n%2] },
		"three pieces":                   func(n int, _ string) (int, int) { return some * (1 + n%3), 0 },
		"the answer to the end is lost":  func(n int, s string) (int, int) { return -1, lost(n, s, "/*", -1) },
		"the question is not understood": func(n int, s string) (int, int) { return -1, lost(n, s, "*/", 500) },
	} {
		for _, size := range []int{store.PartSize, 2 * store.PartSize, 2*store.PartSize + 5} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				body := bytes.Repeat([]byte("0123456"), size/7+1)[:size]
				s := &server{fault: fault}
				if err := send(t.Context(), s.open(t), body); err != nil || !s.made || !bytes.Equal(s.have, body) {
					t.Errorf("%v, made %v, %d bytes of %d", err, s.made, len(s.have), size)
				}
			})
		}
	}
}

// lost is the status of every other request whose span has, or for "/*" lacks, a text.
func lost(n int, span, text string, status int) int {
	if n%2 == 1 && strings.Contains(span, text) != (text == "/*") {
		return status
	}
	return 0
}

// TestBroken: uploads that can't end say so, and end.
func TestBroken(t *testing.T) {
	body := make([]byte, store.PartSize+5)
	for name, s := range map[string]*server{
		"takes nothing":       {fault: func(int, string) (int, int) { return 0, 0 }},
		"forgot the session":  {fault: func(n int, _ string) (int, int) { return 0, []int{410, 0}[n%2] }},
		"always busy":         {fault: func(int, string) (int, int) { return 0, 503 }},
		"stored other bytes":  {wrongSum: true},
		"somebody was faster": {fault: func(_ int, span string) (int, int) { return -1, lost(1, span, "/*", 412) }},
	} {
		err := send(t.Context(), s.open(t), body)
		if err == nil || errors.Is(err, store.ErrExists) != (name == "somebody was faster") {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.deleted; got != map[bool]string{true: "42"}[s.wrongSum] {
			t.Errorf("%s: generation %q was deleted", name, got)
		}
	}
}

// TestAbortWakes: a part that waits for those before it must not wait for ever.
func TestAbortWakes(t *testing.T) {
	s := (&server{}).open(t)
	for name, end := range map[string]func(store.Upload, context.CancelFunc) error{
		"abort":  func(u store.Upload, _ context.CancelFunc) error { return u.Abort(t.Context()) },
		"cancel": func(_ store.Upload, cancel context.CancelFunc) error { cancel(); return nil },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		u, err := s.Upload(ctx, "x", store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error)
		go func() { waited <- u.Part(ctx, 1, make([]byte, store.PartSize)) }()
		if err := end(u, cancel); err != nil {
			t.Error(err)
		}
		select {
		case err := <-waited:
			if err == nil {
				t.Errorf("%s: it succeeded", name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it waits for ever", name)
		}
	}
}

// TestNoStore: what answers in the place of the store, such as a page to log in at, stores nothing.
func TestNoStore(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNoContent, http.StatusFound, http.StatusPermanentRedirect} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(status)
			if status == http.StatusOK {
				_, _ = w.Write([]byte("{}"))
			}
		}))
		s, err := Open(Config{Bucket: "b", Endpoint: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		s.tokens = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "x"})
		if err := s.Put(t.Context(), "x", []byte("content"), store.Options{}); err == nil {
			t.Errorf("%d: a put succeeded", status)
		}
		if _, err := s.Upload(t.Context(), "x", store.Options{}); err == nil {
			t.Errorf("%d: an upload began", status)
		}
		server.Close()
	}
}

// TestOutage: an upload goes on behind what the store has, where it was away for longer than a request is repeated.
func TestOutage(t *testing.T) {
	body := bytes.Repeat([]byte("0123456"), store.PartSize/3)
	for name, fault := range map[string]func(n int, span string) (int, int){
		"it is away, behind half of a part": func(n int, _ string) (int, int) {
			switch {
			case n == 2:
				return 3 << 18, -1
			case n > 2 && n < 3*attempts:
				return 0, 503
			}
			return -1, 0
		},
		"the answer to all of a part is lost": func(n int, _ string) (int, int) {
			switch {
			case n == 2:
				return -1, -1
			case n > 2 && n < 2*attempts:
				return 0, -1
			}
			return -1, 0
		},
		"at the end": func(n int, _ string) (int, int) {
			if n > 2 && n < 3*attempts {
				return 0, 503
			}
			return -1, 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{fault: fault}
			p := store.Patient(s.open(t), time.Minute)
			u, err := p.Upload(t.Context(), "x", store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			parts := 0
			for ; parts*store.PartSize < len(body) && err == nil; parts++ {
				err = u.Part(t.Context(), parts, body[parts*store.PartSize:min((parts+1)*store.PartSize, len(body))])
			}
			if err == nil {
				err = u.Commit(t.Context(), parts)
			}
			if err != nil || !s.made || !bytes.Equal(s.have, body) {
				t.Errorf("%v, made %v, %d bytes of %d", err, s.made, len(s.have), len(body))
			}
		})
	}
}
