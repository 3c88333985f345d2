package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// reinit goes to the agent of the member whose copy shall be made again.
func (s *Service) reinit(w http.ResponseWriter, r *http.Request) {
	switch id := protocol.MemberID(r.PathValue("id")); {
	case id == s.Member:
		finish(w, s.remake(r.Context()))
	case r.Header.Get(forwarded) != "":
		finish(w, Refused{Why: fmt.Sprintf("%s is not %s", s.Member, id)})
	default:
		known := false
		s.Agent.View(func(n *protocol.Node) { _, known = n.Document().Members[id] })
		if !known {
			finish(w, Refused{Why: fmt.Sprintf("there is no member %s", id)})
			return
		}
		s.forward(w, r, id)
	}
}

// remake returns once the old copy is gone. The clone that follows may take long.
func (s *Service) remake(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var refused error
	var old string
	s.Agent.View(func(n *protocol.Node) { refused, old = n.MayReinit(s.Now()), n.Server().Volume })
	if refused != nil {
		return Refused{Why: refused.Error()}
	}
	s.Agent.Reinit()
	for {
		gone := false
		s.Agent.View(func(n *protocol.Node) { gone = n.Server().Volume != old })
		if gone {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the old copy is there still")
		case <-time.After(poll):
		}
	}
}
