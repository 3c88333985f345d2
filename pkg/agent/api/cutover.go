package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Source is the server outside of the cluster that the data comes from, as the member tells which follows it.
type Source struct {
	Address string `json:"address"`
	// Following says that all data was copied, and what is written there comes after it; Linked that it does now.
	Following bool `json:"following,omitempty"`
	Linked    bool `json:"linked,omitempty"`
	// Lag is how many bytes of its log are not here yet, Silent for how long nothing came.
	Lag    int64         `json:"lag"`
	Silent time.Duration `json:"silent"`
	// Received is how many bytes came of the copy that is under way.
	Received int64 `json:"received,omitempty"`
	// Problem says what keeps the data from coming. Refused says that the source was checked, and can't be followed as
	// it is.
	Problem string `json:"problem,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Users are those of the source that don't come along.
	Users []string `json:"users,omitempty"`
}

// Cutover ends that the cluster follows its source.
type Cutover struct {
	// Stopped says that a person stopped all that writes to the source. Otherwise the source has to pause writes.
	Stopped bool `json:"stopped,omitempty"`
}

// CutOver is what came of it.
type CutOver struct {
	// Gap is how long nobody could write: from the pause of the source until the primary took writes. It is 0 if an
	// earlier request did it.
	Gap time.Duration `json:"gap"`
	// Paused is for how long the source still refuses writes; 0 if it does not.
	Paused time.Duration `json:"paused,omitempty"`
	// Forbidden says why nothing was done, if it is a person who has to do something about it.
	Forbidden string `json:"forbidden,omitempty"`
}

// Mover is what the service needs of a driver whose server can follow one outside of the cluster.
type Mover interface {
	// Source tells of the source as far as this member has to do with it, or returns nil.
	Source(ctx context.Context) *Source
	// Halt ends writes at the source for a long time, and returns since when, and for how long, once the server holds all
	// of them: the source proves that. After an error the source takes writes as before. A Refused may be asked again, a
	// Forbidden is for a person.
	Halt(ctx context.Context, stopped bool) (since time.Time, paused time.Duration, err error)
	// Unhalt has the source take writes again.
	Unhalt(ctx context.Context) error
}

// Forbidden is what only a person can change: the source does not let its user pause writes, or somebody writes
// although all writers were said to be stopped.
type Forbidden struct{ Why string }

// Error says what it is.
func (f Forbidden) Error() string { return f.Why }

// sourceTime bounds the questions for a status.
const sourceTime = time.Second

func (s *Service) source(ctx context.Context) *Source {
	if s.Mover == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, sourceTime)
	defer stop()
	return s.Mover.Source(ctx)
}

// cutover is for the agent of the primary.
func (s *Service) cutover(w http.ResponseWriter, r *http.Request) {
	var body Cutover
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		finish(w, Refused{Why: "the request can't be read: " + err.Error()})
		return
	}
	out, err := s.cutOver(r.Context(), body)
	if err != nil {
		finish(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

// cutOver halts the source, has the group agree that it is followed no more, and returns once the primary takes writes.
func (s *Service) cutOver(ctx context.Context, body Cutover) (out CutOver, err error) {
	var from *protocol.Source
	missing := ""
	s.Agent.View(func(n *protocol.Node) { from, missing = n.Document().Source, n.LacksCopies() })
	switch {
	case from == nil:
		return out, s.takesWrites(ctx)
	case s.Mover == nil:
		return out, Refused{Why: "this member has no server that could follow another"}
	case missing != "":
		return out, Refused{Why: missing}
	}
	since, paused, err := s.Mover.Halt(ctx, body.Stopped)
	if forbidden, is := errors.AsType[Forbidden](err); is {
		return CutOver{Forbidden: forbidden.Why}, nil
	}
	if err != nil {
		return out, err
	}
	err = s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		if d.Primary != s.Member {
			return nil, fmt.Errorf("the primary changes: it is %s", d.Primary)
		}
		if d.Level() < protocol.LevelOf((*protocol.EndSource)(nil).Kind()) {
			return nil, errors.New("some agents are older than this one, and don't know what a cut over is")
		}
		return &protocol.EndSource{Address: from.Address}, nil
	}, func(d *protocol.Document) bool { return d.Source == nil })
	if err != nil {
		if _, refused := errors.AsType[Refused](err); refused { // nothing was proposed
			return out, errors.Join(err, s.Mover.Unhalt(ctx))
		}
		return out, fmt.Errorf("the source refuses writes meanwhile, ask again: %w", err)
	}
	if err := s.takesWrites(ctx); err != nil {
		return out, err
	}
	out.Gap = time.Since(since)
	if paused > 0 {
		out.Paused = paused - out.Gap
	}
	return out, nil
}

// takesWrites waits until this member is a primary that follows nothing.
func (s *Service) takesWrites(ctx context.Context) error {
	for {
		takes := false
		s.Agent.View(func(n *protocol.Node) { takes = n.Serves(s.Now()) && !n.Server().Following })
		if takes {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the cluster follows its source no more, and no primary takes writes yet")
		case <-time.After(poll):
		}
	}
}

// Cutover ends that the cluster follows its source, and returns once its primary takes writes; again has no effect. A
// Refused error changed nothing; after ErrUnknown ask again.
func (c *Client) Cutover(ctx context.Context, body Cutover) (CutOver, error) {
	var out CutOver
	return out, c.do(ctx, http.MethodPost, "/v1/cutover", body, &out)
}
