package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Follow has the cluster follow the one that cut over from it, from the very point of the cut over. Nothing is copied.
type Follow struct {
	// Address is a host and a port that lead to the primary of the other cluster.
	Address string `json:"address"`
	// TLS encrypts the connection. The authority of this cluster signed the certificate of the other one.
	TLS bool `json:"tls,omitempty"`
}

// Followed is what came of it.
type Followed struct {
	// NoBack says why nothing was done: there is no way back to this cluster.
	NoBack string `json:"noBack,omitempty"`
}

// NoBack is what keeps a cluster from being followed by the one that it was copied from, or from following the one that
// was copied from it. Asking again won't help unless a person does something.
type NoBack struct{ Why string }

// Error says what it is.
func (n NoBack) Error() string { return n.Why }

// Returner is what the service needs of a driver for the way back after a cut over.
type Returner interface {
	// CanFollow returns nil if this server, the primary, holds all data up to where another cluster closed it, nobody
	// wrote since, and that cluster keeps what comes next. A NoBack says why it does not, another error may pass. It
	// changes nothing.
	CanFollow(ctx context.Context, from protocol.Source) error
	// EndBack removes what this server, the primary, keeps for clusters that it was copied from.
	EndBack(ctx context.Context) error
}

// follow is for the agent of the primary.
func (s *Service) follow(w http.ResponseWriter, r *http.Request) {
	var body Follow
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		finish(w, Refused{Why: "the request can't be read: " + err.Error()})
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), cutOverTime)
	defer stop()
	err := s.begin(ctx, protocol.Source{Address: body.Address, TLS: body.TLS, Kept: true})
	if none, is := errors.AsType[NoBack](err); is {
		answer(w, http.StatusOK, Followed{NoBack: none.Why})
		return
	}
	finish(w, err)
}

// begin has the group agree that the source is followed, and returns once a primary serves that does, or will.
func (s *Service) begin(ctx context.Context, from protocol.Source) error {
	s.moving.Lock()
	defer s.moving.Unlock()
	var of protocol.Generation
	var now *protocol.Source
	missing, serves := "", false
	s.Agent.View(func(n *protocol.Node) {
		d := n.Document()
		now, of, serves = d.Source, d.Generation, n.Serves(s.Now())
		if d.Level() < protocol.LevelOf((*protocol.BeginSource)(nil).Kind()) {
			missing = "some agents are older than this one, and can't follow without a copy"
		}
	})
	switch {
	case s.Mover == nil:
		return NoBack{Why: "this member has no server that could follow another"}
	case now != nil && *now == from:
		return s.followsFrom(ctx, of)
	case now != nil:
		return Refused{Why: "the cluster follows " + now.Address + " already"}
	case !serves:
		return Refused{Why: "there is no primary now"}
	case missing != "":
		return Refused{Why: missing}
	}
	if err := s.Mover.CanFollow(ctx, from); err != nil {
		if _, none := errors.AsType[NoBack](err); none {
			return err
		}
		return Refused{Why: "follow " + from.Address + ": " + err.Error()}
	}
	err := s.agree(ctx, func(*protocol.Document) (protocol.Entry, error) {
		return &protocol.BeginSource{Source: from, Generation: of}, nil
	}, func(d *protocol.Document) bool { return d.Source != nil && *d.Source == from })
	if err != nil {
		return err
	}
	return s.followsFrom(ctx, of)
}

// followsFrom waits until the primary follows, or one of a generation after the given one serves.
func (s *Service) followsFrom(ctx context.Context, of protocol.Generation) error {
	for {
		started := false
		s.Agent.View(func(n *protocol.Node) {
			d := n.Document()
			if d.Primary == s.Member {
				started = n.Serves(s.Now()) && n.Server().Following
			} else {
				started = d.Phase == protocol.Serving && d.Generation > of
			}
		})
		if started {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("it is agreed that the cluster follows, and no primary does yet")
		case <-time.After(poll):
		}
	}
}

// endBack is for the agent of the primary.
func (s *Service) endBack(w http.ResponseWriter, r *http.Request) {
	if s.Mover == nil {
		finish(w, nil)
		return
	}
	finish(w, s.Mover.EndBack(r.Context()))
}

// Follow has the cluster follow the one that cut over from it with Cutover.Back, and returns once a primary serves that
// follows, or will: Status tells how far that is. Again has no effect. A Refused error changed nothing; after
// ErrUnknown ask again.
func (c *Client) Follow(ctx context.Context, body Follow) (Followed, error) {
	var out Followed
	return out, c.do(ctx, http.MethodPost, "/v1/follow", body, &out)
}

// EndBack has a cluster that cut over with Cutover.Back keep nothing for its source any more; again has no effect.
func (c *Client) EndBack(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "/v1/back", nil, nil)
}
