package client

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// leadInterval is how often the successor is asked whether it leads.
const leadInterval = 100 * time.Millisecond

// HandOver implements engine.Session. Only the leader can be asked to give
// way (etcd answers "not leader" elsewhere).
func (s *Session) HandOver(ctx context.Context, to string) error {
	err := s.atLeader(ctx, func(ctx context.Context, c *Connection) error {
		entry, ok, err := s.find(ctx, c, named(to))
		if err != nil {
			return err
		}
		if !ok || !entry.Voter || !entry.Started {
			return refusal.New("successor", "choose a started voter", "member %s cannot lead: it is no started voter", to)
		}
		id, err := parseID(entry.ID)
		if err != nil {
			return err
		}
		status, err := askStatus(ctx, c)
		if err != nil {
			return err
		}
		if status.Leader == id {
			return nil
		}
		_, err = c.Client.MoveLeader(ctx, id)
		return err
	})
	if err == nil {
		err = s.awaitLead(ctx, to)
	}
	if err != nil {
		return fmt.Errorf("hand leadership over to member %s: %w", to, err)
	}
	return nil
}

// awaitLead waits until the member itself says that it leads: the old leader
// says so a little earlier.
func (s *Session) awaitLead(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	ticker := time.NewTicker(leadInterval)
	defer ticker.Stop()
	for {
		if status, _, _ := s.askWhoLeads(ctx, member); status != nil && status.Leader == status.Header.GetMemberId() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not lead yet: %w (%w)", engine.ErrNotReady, ctx.Err())
		case <-ticker.C:
		}
	}
}
