package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// changeTimeout bounds one change. etcd itself gives up after seven seconds.
const changeTimeout = 10 * time.Second

// atLeader lets the leader do something. Every change is asked of the leader:
// it alone knows whether a learner keeps up, its view of who is connected is
// the one that counts, and forwarding failed under authentication before
// 3.5.28 and 3.6.9.
func (s *Session) atLeader(ctx context.Context, do func(context.Context, *Connection) error) error {
	name, err := s.findLeader(ctx)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var failed error
	err = s.With(name, func(c *Connection) bool {
		failed = do(bounded, c)
		return true
	})
	if err != nil {
		return err
	}
	return fault(ctx, failed)
}

// atAny runs a change at one member after the other, until one accepts it. It returns refused if none does.
func (s *Session) atAny(ctx context.Context, refused error, do func(context.Context, *Connection) error) error {
	bounded, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	for _, name := range s.known() {
		accepted := false
		_ = s.With(name, func(c *Connection) bool {
			accepted = do(bounded, c) == nil
			return true
		})
		if accepted {
			return nil
		}
	}
	return refused
}

// findLeader asks every member who leads. Of two that claim it the one with
// the higher term does.
func (s *Session) findLeader(ctx context.Context) (string, error) {
	members := s.known()
	type answer struct {
		status *clientv3.StatusResponse
		// named is the leader's name where the member knows it.
		named string
		// barred is why nobody could log in.
		barred error
	}
	answers := make([]answer, len(members))
	var wg sync.WaitGroup
	for i, member := range members {
		wg.Go(func() {
			answers[i].status, answers[i].named, answers[i].barred = s.askWhoLeads(ctx, member)
		})
	}
	wg.Wait()
	var best *clientv3.StatusResponse
	name := ""
	var locked error
	for i, a := range answers {
		if a.barred != nil {
			locked = a.barred
		}
		if a.status == nil || a.named == "" {
			continue
		}
		leads := a.named == members[i]
		if best == nil || a.status.RaftTerm > best.RaftTerm || (leads && a.status.RaftTerm == best.RaftTerm) {
			best, name = a.status, a.named
		}
	}
	if name == "" && locked != nil {
		return "", fault(ctx, locked)
	}
	if name == "" {
		return "", fmt.Errorf("find the leader among %d members: none of them knows one: %w", len(members),
			engine.ErrNotReady)
	}
	return name, nil
}

// askWhoLeads asks one member; a nil status means that it was not reached, or
// lets nobody in.
func (s *Session) askWhoLeads(ctx context.Context, member string) (status *clientv3.StatusResponse, named string,
	locked error) {
	ctx, cancel := context.WithTimeout(ctx, ObserveTimeout)
	defer cancel()
	// An error leaves the status nil, like a member that is down.
	_ = s.With(member, func(c *Connection) bool {
		answer, err := askStatus(ctx, c)
		if barred(err) {
			locked = err
			return true
		}
		if err != nil {
			return false
		}
		status = answer
		if answer.Leader == 0 {
			return true
		}
		if answer.Leader == answer.Header.GetMemberId() {
			named = member
			return true
		}
		list, err := c.Client.MemberList(ctx, clientv3.WithSerializable())
		if err != nil {
			return true
		}
		for _, m := range list.Members {
			if m.ID == answer.Leader {
				named = m.Name
			}
		}
		return true
	})
	return status, named, locked
}
