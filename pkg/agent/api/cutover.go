package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	// Users are those of the source that don't come along, Left is what else does not.
	Users []string `json:"users,omitempty"`
	Left  []string `json:"left,omitempty"`
}

// UntilOpened is for how long a source refuses writes that a person has to open again.
const UntilOpened time.Duration = math.MaxInt64

// Cutover ends that the cluster follows its source.
type Cutover struct {
	// Stopped says that a person stopped all that writes to the source. Otherwise the source has to pause writes.
	Stopped bool `json:"stopped,omitempty"`
	// Back has the primary prepare that the source, a cluster of agents, follows this one from the very point of the cut
	// over: see Client.Follow. Where it can't, nothing is done, and the answer says so in NoBack.
	Back bool `json:"back,omitempty"`
}

// CutOver is what came of it.
type CutOver struct {
	// Gap is how long nobody could write: from the pause of the source until the primary took writes. It is 0 if an
	// earlier request did it.
	Gap time.Duration `json:"gap"`
	// Paused is for how long the source still refuses writes; 0 if it does not. It may be UntilOpened.
	Paused time.Duration `json:"paused,omitempty"`
	// Compared says what of the data was compared with the source while nobody could write, and agrees; "" for nothing.
	Compared string `json:"compared,omitempty"`
	// Forbidden says why nothing was done, if it is a person who has to do something about it.
	Forbidden string `json:"forbidden,omitempty"`
	// NoBack says why nothing was done, if the way back that was asked for can't be prepared.
	NoBack string `json:"noBack,omitempty"`
}

// Mover is what the service needs of a driver whose server can follow one outside of the cluster.
type Mover interface {
	// Source tells of the source as far as this member has to do with it, or returns nil.
	Source(ctx context.Context) *Source
	// Halt ends writes at the source for a long time, and returns once the server holds all of them: the source proves
	// that. After an error the source takes writes as before. A Refused may be asked again, a Forbidden is for a person,
	// as is a NoBack. Once leads says that this member is not the primary any more, it leaves the source to the next one.
	Halt(ctx context.Context, how Cutover, leads func() bool) (Halted, error)
	// Unhalt has the source take writes again. So does a primary of a later generation as it begins to follow.
	Unhalt(ctx context.Context) error
	Returner
}

// Halted is what Halt did.
type Halted struct {
	// Since is when writes ended, Paused for how long the source refuses them from then on; 0 if it does not.
	Since  time.Time
	Paused time.Duration
	// Compared, see CutOver.
	Compared string
}

// Forbidden is what only a person can change: the source does not let its user pause writes, or somebody writes
// although all writers were said to be stopped.
type Forbidden struct{ Why string }

// Error says what it is.
func (f Forbidden) Error() string { return f.Why }

const (
	// sourceTime bounds the questions for a status.
	sourceTime = time.Second
	// cutOverTime bounds a cut over, whether somebody waits for it or not.
	cutOverTime = time.Minute
)

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
	// Who asked may be gone: what was started at the source is ended all the same.
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.Context()), cutOverTime)
	defer stop()
	out, err := s.cutOver(ctx, body)
	if err != nil {
		finish(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

// cutOver halts the source, has the group agree that it is followed no more, and returns once the primary takes writes.
// There is one at a time: one that fails would have the source take writes again that another one halted.
func (s *Service) cutOver(ctx context.Context, body Cutover) (out CutOver, err error) {
	s.moving.Lock()
	defer s.moving.Unlock()
	var from *protocol.Source
	var of protocol.Generation
	missing, serves := "", false
	s.Agent.View(func(n *protocol.Node) {
		d := n.Document()
		from, of, missing, serves = d.Source, d.Generation, n.LacksCopies(), n.Serves(s.Now())
		if d.Level() < protocol.LevelOf((*protocol.EndSource)(nil).Kind()) {
			missing = "some agents are older than this one, and don't know this kind of cut over"
		}
	})
	switch {
	case from == nil:
		return out, s.takesWrites(ctx)
	case s.Mover == nil:
		return out, Refused{Why: "this member has no server that could follow another"}
	case !serves:
		return out, Refused{Why: "there is no primary now"}
	case missing != "":
		return out, Refused{Why: missing}
	}
	leads := func() (still bool) {
		s.Agent.View(func(n *protocol.Node) {
			d := n.Document()
			still = d.Source != nil && d.Generation == of && n.Serves(s.Now())
		})
		return still
	}
	halted, err := s.Mover.Halt(ctx, body, leads)
	if forbidden, is := errors.AsType[Forbidden](err); is {
		return CutOver{Forbidden: forbidden.Why}, nil
	}
	if none, is := errors.AsType[NoBack](err); is {
		return CutOver{NoBack: none.Why}, nil
	}
	if err != nil {
		return out, err
	}
	if err := s.endSource(ctx, protocol.EndSource{Address: from.Address, Generation: of}); err != nil {
		if _, refused := errors.AsType[Refused](err); refused && leads() && halted.Paused > 0 { // nothing was proposed
			return out, errors.Join(err, s.Mover.Unhalt(ctx))
		}
		return out, errors.New("the source refuses writes until this is agreed, or another primary follows it: ask again: " +
			err.Error())
	}
	if err := s.takesWrites(ctx); err != nil {
		return out, err
	}
	s.measureAgain()
	out.Gap, out.Paused, out.Compared = time.Since(halted.Since), halted.Paused, halted.Compared
	if out.Paused > 0 && out.Paused < UntilOpened {
		out.Paused -= out.Gap
	}
	return out, nil
}

// endSource has the group agree that the source is followed no more, as long as this is the primary that halted it.
func (s *Service) endSource(ctx context.Context, e protocol.EndSource) error {
	return s.agree(ctx, func(d *protocol.Document) (protocol.Entry, error) {
		if d.Primary != s.Member || d.Generation != e.Generation {
			return nil, fmt.Errorf("the primary of generation %d is none any more", e.Generation)
		}
		return &e, nil
	}, func(d *protocol.Document) bool { return d.Source == nil })
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
