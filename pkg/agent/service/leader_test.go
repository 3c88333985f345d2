//go:build linux

package service

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// server answers as the API server does, for one service.
type server struct {
	mu       sync.Mutex
	version  int
	selector map[string]string
	marks    map[string]string
	// refuses is the status of all answers; 0 for none. meanwhile is called once, between a read and the change after it.
	refuses   int
	meanwhile func()
	patches   int
	// late takes the first change, if it is set, and has it arrive once that channel is closed.
	late chan chan struct{}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch && s.late != nil {
		arrives := make(chan struct{})
		select {
		case s.late <- arrives:
			<-arrives
		default: // it is not the first
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := func(status int, body any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	switch {
	case s.refuses != 0:
		answer(s.refuses, map[string]string{"message": "not today"})
		return
	case r.URL.Path != "/api/v1/namespaces/ns/services/db-client" || r.Header.Get("Authorization") != "Bearer secret":
		answer(http.StatusForbidden, map[string]string{"message": "who are you"})
		return
	case r.Method == http.MethodPatch:
		if s.meanwhile != nil {
			s.meanwhile()
			s.meanwhile = nil
			s.version++
		}
		var change struct {
			Metadata struct {
				ResourceVersion string             `json:"resourceVersion"`
				Annotations     map[string]*string `json:"annotations"`
			} `json:"metadata"`
			Spec struct {
				Selector map[string]*string `json:"selector"`
			} `json:"spec"`
		}
		if json.NewDecoder(r.Body).Decode(&change) != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
			answer(http.StatusBadRequest, nil)
			return
		}
		if change.Metadata.ResourceVersion != s.text() {
			answer(http.StatusConflict, map[string]string{"message": "it was changed"})
			return
		}
		merge(s.selector, change.Spec.Selector)
		merge(s.marks, change.Metadata.Annotations)
		s.version++
		s.patches++
	}
	answer(http.StatusOK, map[string]any{"metadata": map[string]any{"resourceVersion": s.text(), "annotations": s.marks},
		"spec": map[string]any{"selector": s.selector}})
}

func merge(into map[string]string, change map[string]*string) {
	for k, v := range change {
		if v == nil {
			delete(into, k)
		} else {
			into[k] = *v
		}
	}
}

func (s *server) text() string { return strings.Repeat("v", s.version+1) }

// leader returns a leader of db-1 in a generation, whose clock never moves.
func leader(t *testing.T, s *server, g protocol.Generation) *Leader {
	t.Helper()
	if s.selector == nil {
		s.selector, s.marks = map[string]string{}, map[string]string{}
	}
	at := httptest.NewTLSServer(s)
	t.Cleanup(at.Close)
	credentials := t.TempDir()
	for name, content := range map[string]string{
		"token":  "secret\n",
		"ca.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: at.Certificate().Raw})),
	} {
		if err := os.WriteFile(filepath.Join(credentials, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := New(Config{Member: "db-1", Token: "t", Now: func() protocol.Instant { return 100 }, Report: func(string) {},
		Service: Service{Namespace: "ns", Name: "db-client", Selector: map[string]string{"cluster": "db"}, Label: "member",
			Credentials: credentials, Server: at.URL}})
	l.Set(protocol.Route{Primary: "db-1", Generation: g, Until: 200})
	return l
}

func TestLead(t *testing.T) {
	t.Parallel()
	ours := map[string]string{"cluster": "db", "member": "db-1"}
	theirs := map[string]string{"cluster": "db", "member": "db-2"}
	marked := func(mark string) *server {
		return &server{selector: maps.Clone(theirs), marks: map[string]string{annotation: mark}}
	}
	for name, c := range map[string]struct {
		before *server
		route  protocol.Route
		want   map[string]string
		mark   string
		err    string
	}{
		"nobody was selected": {before: &server{}, want: ours, mark: "t/7"},
		"another one was":     {before: marked("t/6"), want: ours, mark: "t/7"},
		"a later generation is not undone": {before: marked("t/8"), want: theirs, mark: "t/8",
			err: "service db-client bears a later generation than 7, which is this one: kubectl annotate service " +
				"db-client -n ns dbop.dev/generation-"},
		"one of another incarnation is": {before: marked("s/8"), want: ours, mark: "t/7"},
		"a mark that nobody can read":   {before: marked("t/x"), want: ours, mark: "t/7"},
		"somebody edited it": {before: &server{selector: map[string]string{"cluster": "db", "member": "db-1", "more": "yes"},
			marks: map[string]string{annotation: "t/7"}}, want: ours, mark: "t/7"},
		"another member is the primary": {before: &server{selector: maps.Clone(theirs), marks: map[string]string{}},
			route: protocol.Route{Primary: "db-2", Generation: 7, Until: 200}, want: theirs},
		"the lease is over": {before: &server{selector: maps.Clone(theirs), marks: map[string]string{}},
			route: protocol.Route{Primary: "db-1", Generation: 7, Until: 100}, want: theirs},
		"it is refused": {
			before: &server{refuses: http.StatusForbidden, selector: maps.Clone(theirs), marks: map[string]string{}},
			want:   theirs, err: "read the service of clients: the API server answers 403: not today"},
		"the account was deleted": {
			before: &server{refuses: http.StatusUnauthorized, selector: maps.Clone(theirs), marks: map[string]string{}},
			want:   theirs, err: "read the service of clients: the API server answers 401: not today: a token ends with its " +
				"service account, and Kubernetes replaces it within an hour, or with the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.before
			l := leader(t, s, 7)
			if c.route.Primary != "" {
				l.Set(c.route)
			}
			said := ""
			if err := l.Lead(t.Context()); err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(c.want, s.selector); diff != "" || s.marks[annotation] != c.mark || said != c.err {
				t.Errorf("mark %q, error %q\n%s", s.marks[annotation], said, diff)
			}
		})
	}
}

// TestLeadMeanwhile: what somebody else writes between the read and the change is read again.
func TestLeadMeanwhile(t *testing.T) {
	t.Parallel()
	s := &server{}
	l := leader(t, s, 7)
	s.meanwhile = func() { s.selector["member"], s.marks[annotation] = "db-2", "t/8" }
	if err := l.Lead(t.Context()); err == nil || s.selector["member"] != "db-2" || s.patches != 0 {
		t.Errorf("%v: it selects %v after %d changes", err, s.selector, s.patches)
	}
}

// TestLeadLate: a change is on its way while the API server is away and two other members become the primary, one after
// the other. It arrives after theirs, and the service leads to the last one.
func TestLeadLate(t *testing.T) {
	t.Parallel()
	s := &server{late: make(chan chan struct{}, 1)}
	first := leader(t, s, 7)
	ended := make(chan error, 1)
	go func() { ended <- first.Lead(t.Context()) }()
	arrives := <-s.late
	s.late <- nil // no other change is late
	for i, member := range []protocol.MemberID{"db-2", "db-3"} {
		l := leader(t, s, 7)
		l.config.Member = member
		l.Set(protocol.Route{Primary: member, Generation: protocol.Generation(8 + i), Until: 200})
		s.setRefuses(http.StatusServiceUnavailable)
		if err := l.Lead(t.Context()); err == nil {
			t.Errorf("%s leads although the API server is away", member)
		}
		s.setRefuses(0)
		if err := l.Lead(t.Context()); err != nil {
			t.Errorf("%s does not lead: %v", member, err)
		}
	}
	close(arrives)
	err := <-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil || s.selector["member"] != "db-3" || s.marks[annotation] != "t/9" {
		t.Errorf("the service leads to %v, marked %q; who came late says %v", s.selector, s.marks[annotation], err)
	}
}

func (s *server) setRefuses(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = status
}

// TestRun: a change of the route is acted upon at once, what fails is tried again, and said once.
func TestRun(t *testing.T) {
	t.Parallel()
	s := &server{refuses: http.StatusServiceUnavailable}
	l := leader(t, s, 7)
	said := make(chan string, 100)
	l.config.Report = func(what string) { said <- what }
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	ended := make(chan bool)
	go func() { l.Run(ctx); close(ended) }()
	if what := <-said; !strings.Contains(what, "answers 503") {
		t.Errorf("it says %q", what)
	}
	s.mu.Lock()
	s.refuses = 0
	s.mu.Unlock()
	selects := func(mark string) {
		t.Helper()
		for ctx.Err() == nil {
			s.mu.Lock()
			have := s.marks[annotation]
			s.mu.Unlock()
			if have == mark {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("the service never gets the mark %s", mark)
	}
	selects("t/7")
	began := time.Now()
	l.Set(protocol.Route{Primary: "db-1", Generation: 9, Until: 200})
	selects("t/9")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a change takes %s", took)
	}
	stop()
	<-ended
	if len(said) > 0 {
		t.Errorf("%d things more were said", len(said))
	}
}
