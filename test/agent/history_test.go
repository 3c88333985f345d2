package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/test/history"
)

// registers are keys of Valkey or Redis, read and written through the agent of one member. What no replica confirmed
// has an unknown outcome: a write, and what was read as well, since a failover may lose what was read.
type registers struct {
	site    *site
	client  int
	session *redisSession
	reads   int
}

func (r *registers) ask(ctx context.Context, do func(*redisSession) error) error {
	if r.session == nil {
		c, err := r.site.engine.dial(ctx, r.site.members[r.client%len(r.site.members)])
		if err != nil {
			return err
		}
		r.session = c.(*redisSession)
	}
	err := do(r.session)
	if err == nil {
		var confirmed []string
		if confirmed, err = r.session.do(ctx, "WAIT", "1", "900"); err == nil && confirmed[0] == "0" {
			err = errors.New("no replica confirmed it")
		}
	}
	if err != nil {
		r.session.close()
		r.session = nil
	}
	return err
}

// Put writes a key, and waits until a replica holds it.
func (r *registers) Put(ctx context.Context, key, value string) error {
	return r.ask(ctx, func(s *redisSession) error {
		_, err := s.do(ctx, "SET", key, value)
		return err
	})
}

// Get reads a key, and waits until a replica holds what it read: WAIT counts from the last write of a session.
func (r *registers) Get(ctx context.Context, key string) (value string, err error) {
	err = r.ask(ctx, func(s *redisSession) error {
		r.reads++
		for _, command := range [][]string{
			{"MULTI"},
			{"GETRANGE", key, "0", "-1"}, // "" where there is none
			{"SET", fmt.Sprintf("read-%d", r.client), strconv.Itoa(r.reads)},
			{"EXEC"},
		} {
			got, err := s.do(ctx, command...)
			if err != nil {
				return err
			}
			value = got[0]
		}
		return nil
	})
	return value, err
}

// TestHistoryValkey has clients read and write shared registers through a switchover, and through primaries that are
// killed, frozen with open sessions, and cut off. With strict durability one order explains what they saw.
func TestHistoryValkey(t *testing.T) {
	t.Parallel()
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}, proxied: true}, 1)
	const clients = 6
	h := history.Start(t.Context(), func(client int) history.Registers {
		return &registers{site: s.site, client: client}
	}, "register-", clients, *seedFlag)
	chosen := map[string]bool{
		"a switchover": true, "the server of the primary is killed": true, "the primary is cut off": true,
		"every process of the primary freezes, and goes on": true, "the pod of the primary is deleted": true,
	}
	for _, tr := range troubles() {
		if chosen[tr.name] || torture() {
			delete(chosen, tr.name)
			s.make(tr)
		}
	}
	if len(chosen) > 0 {
		t.Errorf("there is no such trouble: %v", chosen)
	}
	judged, err := h.Stop(time.Minute)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d operations, the outcome of %d is unknown; judged in %s", judged.Operations, judged.Unknown, judged.Took)
	if known := judged.Operations - judged.Unknown; known < 100 {
		t.Errorf("%d operations show nothing", known)
	}
	s.clients.check(t)
}
