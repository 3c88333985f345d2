package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// Register implements engine.Session: as a learner, which does not count in
// the quorum, so a member that never comes up does no harm.
func (s *Session) Register(ctx context.Context, member string) error {
	register := func(ctx context.Context, c *Connection) error {
		registered, err := s.isRegistered(ctx, c, member)
		if registered || err != nil {
			return err
		}
		_, err = c.Client.MemberAddAsLearner(ctx, []string{s.At.PeerURL(member)})
		if errors.Is(rpctypes.Error(err), rpctypes.ErrPeerURLExist) {
			// Another actor was faster, or an earlier request of ours arrived late.
			_, err = s.isRegistered(ctx, c, member)
		}
		return err
	}
	err := s.atLeader(ctx, register)
	if errors.Is(err, rpctypes.ErrUnhealthy) {
		// The member that is asked must have seen a majority connected for 5 s. A leader was seen that held a connected
		// peer to be away for minutes, until it restarted. Any voter may be asked, and the change needs a majority anyway.
		err = s.atAny(ctx, err, register)
	}
	if err != nil {
		return fmt.Errorf("register member %s: %w", member, err)
	}
	return nil
}

// isRegistered reports whether the member's address has an entry that waits
// for it; an entry that has started is another life of the member and refused.
func (s *Session) isRegistered(ctx context.Context, c *Connection, member string) (bool, error) {
	entry, ok, err := s.find(ctx, c, func(r engine.Registered) bool {
		return r.Address == s.At.PeerURL(member) || r.Name == member
	})
	if err != nil || !ok {
		return false, err
	}
	if entry.Started {
		return false, refusal.New("member-registered",
			"kubectl dbop status shows its state; remove it first, and add it again",
			"member %s is registered and has started already", entry.Name)
	}
	return true, nil
}

// Promote implements engine.Session. etcd decides whether the learner has
// caught up (its log reaches 90 % of the leader's); no percentage of ours does.
func (s *Session) Promote(ctx context.Context, member string) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		entry, ok, err := s.find(ctx, c, named(member))
		switch {
		case err != nil:
			return err
		case !ok:
			return refusal.New("member-registered", "kubectl dbop add-member registers one",
				"member %s is not in the cluster's member list", member)
		case entry.Voter && entry.Started:
			return nil
		case !entry.Started:
			// Before 3.5.7 etcd promotes a learner that never started, and loses a vote.
			return fmt.Errorf("member %s has not started: %w", member, engine.ErrNotReady)
		}
		id, err := parseID(entry.ID)
		if err != nil {
			return err
		}
		_, err = c.Client.MemberPromote(ctx, id)
		if errors.Is(rpctypes.Error(err), rpctypes.ErrMemberNotLearner) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("promote member %s: %w", member, err)
	}
	return nil
}

// Deregister implements engine.Session. etcd never gives an ID to another member.
func (s *Session) Deregister(ctx context.Context, member, id string) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		number, err := parseID(id)
		if err != nil {
			return err
		}
		_, err = c.Client.MemberRemove(ctx, number)
		if errors.Is(rpctypes.Error(err), rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove member %s from the member list: %w", member, err)
	}
	return nil
}

func named(member string) func(engine.Registered) bool {
	return func(r engine.Registered) bool { return r.Name == member }
}

// find reads the member list, read linearizably.
func (s *Session) find(ctx context.Context, c *Connection, fits func(engine.Registered) bool) (engine.Registered, bool,
	error) {
	list, err := c.Client.MemberList(ctx)
	if err != nil {
		return engine.Registered{}, false, fmt.Errorf("read the member list: %w", err)
	}
	for _, r := range s.memberListFrom(list) {
		if fits(r) {
			return r, true, nil
		}
	}
	return engine.Registered{}, false, nil
}

func parseID(id string) (uint64, error) {
	n, err := strconv.ParseUint(id, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("parse member ID %q: %w", id, err)
	}
	return n, nil
}
