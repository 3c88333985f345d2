package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Agent is what the service needs of the agent.
type Agent interface {
	// View calls a function with the node, while nothing happens to it.
	View(look func(*protocol.Node))
	// Ask takes a request for another primary.
	Ask(protocol.Intent)
	// Reinit asks for the copy of this member to be made again.
	Reinit()
	// Failing says why what was last asked of the server failed; "" since that succeeded, or the server ran.
	Failing() string
}

// Group is what it needs of the group.
type Group interface {
	Propose(protocol.Entry)
	Leader() protocol.MemberID
	Heard() map[protocol.MemberID]time.Time
	// Recover has this member take no part any more, and begin the incarnation of a token after its next start.
	Recover(token string) error
}

// Tuner is what it needs of a driver whose server has settings.
type Tuner interface {
	// CheckValues refuses values that the server would not take.
	CheckValues(ctx context.Context, values map[string]string) error
	// Pending are settings that the server takes only at its next start, and those that it takes only once the primary
	// has them.
	Pending() (start, held []string)
}

// Service answers requests.
type Service struct {
	Member protocol.MemberID
	Start  uint64
	// Version is the release of the server, "" of a witness.
	Version string
	Agent   Agent
	// Users is nil where the engine has none.
	Users Users
	// Tuner is nil where the engine's settings are not checked.
	Tuner Tuner
	// Copier is nil where no copies of the data are made.
	Copier Copier
	// Meter is nil of a witness.
	Meter Meter
	// Space tells how many bytes of the volume are used, and how many may be; nil where nobody knows. It holds nobody up.
	Space func() (used, total int64)
	// Mover is nil where no server outside of the cluster can be followed.
	Mover Mover
	// Clients is nil where no agent leads clients straight to the primary.
	Clients ClientLeader
	// Log is nil where no log is archived.
	Log   LogKeeper
	Group Group
	Now   func() protocol.Instant
	// Dial connects to the service of another member's agent.
	Dial func(protocol.MemberID) (net.Conn, error)
	// Left is called after this member left its incarnation for another one.
	Left func(token string)

	mu      sync.Mutex
	notices []Notice

	// moving is held during a cut over, and as the cluster begins to follow.
	moving sync.Mutex
	// measuring is held while the server is asked for measured.
	measuring sync.Mutex
	measured  measured
}

const (
	// requestTimeout bounds a request.
	requestTimeout = 30 * time.Second
	poll           = 50 * time.Millisecond
	mostNotice     = 50
	mostBody       = 1 << 20
)

// Note keeps what a person should know.
func (s *Service) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, Notice{At: time.Now().UTC().Truncate(time.Millisecond), Text: text})
	if n := len(s.notices); n > mostNotice {
		s.notices = slices.Clone(s.notices[n-mostNotice:])
	}
}

// Handler serves the requests. Who may connect was decided before.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		st := s.Status()
		st.Server.Measures = s.measures(r.Context(), st.Server.Settings)
		st.Server.Disk = s.disk()
		st.Server.Source = s.source(r.Context())
		st.Server.Bases = s.bases()
		answer(w, http.StatusOK, st)
	})
	mux.HandleFunc("POST /v1/switchover", s.onPrimary(s.switchover))
	handle(mux, "POST /v1/failover", s.failover)
	mux.HandleFunc("POST /v1/recover", func(w http.ResponseWriter, r *http.Request) {
		if body, ok := read[Recover](w, r); ok {
			s.recover(w, body)
		}
	})
	mux.HandleFunc("POST /v1/members/{id}/reinit", s.reinit)
	handle(mux, "POST /v1/members", s.add)
	mux.HandleFunc("DELETE /v1/members/{id}", func(w http.ResponseWriter, r *http.Request) {
		finish(w, s.remove(r.Context(), protocol.MemberID(r.PathValue("id"))))
	})
	handle(mux, "PUT /v1/settings", s.configure)
	handle(mux, "POST /v1/holds", s.hold)
	mux.HandleFunc("DELETE /v1/holds/{id}", func(w http.ResponseWriter, r *http.Request) {
		finish(w, s.release(r.Context(), r.PathValue("id")))
	})
	mux.HandleFunc("POST /v1/cutover", s.onPrimary(s.cutover))
	mux.HandleFunc("POST /v1/follow", s.onPrimary(s.follow))
	mux.HandleFunc("DELETE /v1/back", s.onPrimary(s.endBack))
	mux.HandleFunc("POST /v1/lead", s.onPrimary(s.lead))
	s.handleUsers(mux)
	s.handleSQL(mux)
	s.handleCopies(mux)
	s.handleChecks(mux)
	s.handleSettings(mux)
	s.handleLog(mux)
	all := http.NewServeMux()
	all.Handle("/", http.MaxBytesHandler(mux, mostBody))
	s.handleBases(all)
	return all
}

// handle reads the body of a request, strictly, and does it.
func handle[T any](mux *http.ServeMux, pattern string, do func(context.Context, T) error) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if body, ok := read[T](w, r); ok {
			finish(w, do(r.Context(), body))
		}
	})
}

// read takes the body of a request. It answers one that can't be read.
func read[T any](w http.ResponseWriter, r *http.Request) (body T, ok bool) {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		finish(w, Refused{Why: "the request can't be read: " + err.Error()})
		return body, false
	}
	return body, true
}

func finish(w http.ResponseWriter, err error) {
	var refused Refused
	switch {
	case err == nil:
		answer(w, http.StatusOK, struct{}{})
	case errors.As(err, &refused):
		answer(w, http.StatusConflict, problem{Refused: refused.Why})
	default:
		answer(w, http.StatusGatewayTimeout, problem{Unknown: err.Error()})
	}
}

// answer says how long it is: it is whole as soon as it was sent, also if the agent ends right after it.
func answer(w http.ResponseWriter, code int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		code, raw = http.StatusInternalServerError, []byte(`{"unknown":"the answer can't be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(code)
	_, _ = w.Write(raw) // who asked may be gone
}

// agree proposes an entry until its effect is seen. Entries that come twice have no effect the second time.
func (s *Service) agree(ctx context.Context, entry func(*protocol.Document) (protocol.Entry, error),
	done func(*protocol.Document) bool,
) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var asked time.Time
	for first := true; ; first = false {
		var next protocol.Entry
		var refused error
		finished := false
		s.Agent.View(func(n *protocol.Node) {
			d := n.Document()
			if finished = done(d); finished {
				return
			}
			if next, refused = entry(d); refused == nil && next != nil {
				refused = d.Try(next)
			}
		})
		switch {
		case finished:
			return nil
		case refused != nil && first:
			return Refused{Why: refused.Error()}
		case refused == nil && next != nil && time.Since(asked) > time.Second:
			s.Group.Propose(next)
			asked = time.Now()
		}
		select {
		case <-ctx.Done():
			if s.Group.Leader() == "" {
				return errors.New("the group has no leader: a majority of its voters can't be reached")
			}
			return errors.New("the group did not agree in time")
		case <-time.After(poll):
		}
	}
}

// forward has the agent of another member answer.
func (s *Service) forward(w http.ResponseWriter, r *http.Request, to protocol.MemberID) {
	dial := func(context.Context, string, string) (net.Conn, error) { return s.Dial(to) }
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	proxy := httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", string(to)
			p.Out.Header.Set(forwarded, string(s.Member))
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			finish(w, fmt.Errorf("ask the agent of %s: %w", to, err))
		},
	}
	proxy.ServeHTTP(w, r)
}

// forwarded names the agent that passed a request on; it is not passed on again.
const forwarded = "Dbop-Forwarded-By"
