// Package health answers the probes of the kubelet. It listens without TLS and tells no secret.
package health

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Agent is what the probes need of the agent.
type Agent interface {
	// View calls a function with the node, while nothing happens to it.
	View(look func(*protocol.Node))
	// LastStep is when the loop of the agent took an event last; 0 before it runs.
	LastStep() protocol.Instant
}

// Health answers GET /live and GET /ready: 200, or 503 with the reason as text.
type Health struct {
	Agent Agent
	// Leader returns who leads the group, or "".
	Leader func() protocol.MemberID
	Now    func() protocol.Instant
}

// stuck is the time without an event after which the loop counts as stuck: one comes every 400 ms at least.
const stuck = 10 * time.Second

// Stuck returns why the agent must be started again, or "".
func (h *Health) Stuck() string {
	if last := h.Agent.LastStep(); last > 0 && h.Now().Sub(last) > stuck {
		return "the loop of the agent is stuck since " + h.Now().Sub(last).Truncate(time.Second).String()
	}
	return ""
}

// Unready returns why this member may not serve, or "".
func (h *Health) Unready() string {
	if why := h.Stuck(); why != "" {
		return why // the node can't be asked
	}
	why := "the agent starts"
	if h.Agent.LastStep() > 0 {
		leader := h.Leader()
		h.Agent.View(func(n *protocol.Node) { why = n.Unready(h.Now(), leader) })
	}
	return why
}

// Handler serves both probes.
func (h *Health) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, ask := range map[string]func() string{"GET /live": h.Stuck, "GET /ready": h.Unready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			why := ask()
			if why == "" {
				why = "ok"
			} else {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			_, _ = io.WriteString(w, why+"\n") // who asked may be gone
		})
	}
	return mux
}

// Serve answers until the listener is closed.
func (h *Health) Serve(l net.Listener) error {
	server := &http.Server{
		Handler: h.Handler(), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 30 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 4 << 10,
	}
	if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
