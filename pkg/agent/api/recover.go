package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// recentTime is how long a member that was heard can't be dead.
const recentTime = 3 * time.Second

// recover has this member leave the incarnation. It begins the next one when it is started with the token of that.
func (s *Service) recover(w http.ResponseWriter, body Recover) {
	var refused error
	s.Agent.View(func(n *protocol.Node) { refused = s.mayRecover(n, body) })
	if refused != nil {
		finish(w, Refused{Why: refused.Error()})
		return
	}
	if err := s.Group.Recover(body.Token); err != nil {
		finish(w, err)
		return
	}
	finish(w, nil)
	_ = http.NewResponseController(w).Flush() // the agent ends now, and the answer would be lost with it
	s.Left(body.Token)
}

// mayRecover returns why this member may not begin another incarnation, or nil.
func (s *Service) mayRecover(n *protocol.Node, body Recover) error {
	d, o := n.Document(), n.Server()
	alive := slices.DeleteFunc(slices.Clone(d.Voters), func(id protocol.MemberID) bool {
		return slices.Contains(body.Dead, id)
	})
	switch {
	case body.Token == "" || body.Token == d.Token:
		return errors.New("a new incarnation needs a token of its own")
	case d.Token == "" || d.System == "":
		return errors.New("there is no database to recover")
	case s.Group.Leader() != "":
		return fmt.Errorf("the group has a leader, %s: it recovers by itself", s.Group.Leader())
	case n.Leased(d.Generation, s.Now()):
		return fmt.Errorf("%s has a lease still: ask again in %s", s.Member, d.Settings.Timing.Lease)
	case slices.Contains(body.Dead, s.Member):
		return fmt.Errorf("%s is not dead: it answers", s.Member)
	case 2*len(alive) > len(d.Voters):
		return fmt.Errorf("%v are a majority of the voters %v: start them instead, or prove more of them dead", alive,
			d.Voters)
	case o.Volume == "" || o.Unfit != "" || o.Unread:
		return fmt.Errorf("%s holds no copy of the data whose end is known", s.Member)
	}
	for id := range d.Members {
		told, dead := n.Received(id), slices.Contains(body.Dead, id)
		at, ever := s.Group.Heard()[id]
		switch {
		case dead && ever && time.Since(at) < recentTime:
			return fmt.Errorf("%s is not dead: it was heard %s ago", id, time.Since(at).Truncate(time.Millisecond))
		case !dead && id != s.Member && told.Compare(o.Position) > 0:
			return fmt.Errorf("%s holds more, and is not dead: recover with that", id)
		}
	}
	if !body.Lose {
		loss := protocol.Loss{}
		if o.Position.Compare(d.Published) < 0 {
			loss.Bytes = d.Published.Offset - min(d.Published.Offset, o.Position.Offset)
		}
		return fmt.Errorf("this may lose acknowledged writes: %s", loss)
	}
	return nil
}
