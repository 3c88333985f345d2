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

// shared are keys of Valkey or Redis, read and written through one member: registers and sets. What no replica
// confirmed has an unknown outcome: a write, and what was read as well, since a failover may lose what was read.
type shared struct {
	site    *site
	client  int
	session *redisSession
	marks   int
}

func (r *shared) ask(ctx context.Context, do func(*redisSession) error) error {
	if r.session == nil {
		c, err := r.site.engine.dial(ctx, r.site.members[r.client%len(r.site.members)])
		if err != nil {
			return errors.Join(history.ErrNotDone, err)
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

// write changes a key, and waits until a replica holds it. WAIT counts from the last write of a session, and what is
// there already is none: so another key is written behind it.
func (r *shared) write(ctx context.Context, command ...string) error {
	return r.ask(ctx, func(s *redisSession) error {
		_, err := s.do(ctx, command...)
		if errors.As(err, new(refusal)) {
			return errors.Join(history.ErrNotDone, err)
		}
		if err == nil {
			_, err = s.do(ctx, r.mark()...)
		}
		return err
	})
}

// mark is a write that always changes something.
func (r *shared) mark() []string {
	r.marks++
	return []string{"SET", fmt.Sprintf("mark-%d", r.client), strconv.Itoa(r.marks)}
}

// Put writes a key.
func (r *shared) Put(ctx context.Context, key, value string) error {
	return r.write(ctx, "SET", key, value)
}

// read asks for something and waits until a replica holds what it read.
func (r *shared) read(ctx context.Context, command ...string) (got []string, err error) {
	err = r.ask(ctx, func(s *redisSession) (err error) {
		for _, command := range [][]string{{"MULTI"}, command, r.mark(), {"EXEC"}} {
			if got, err = s.do(ctx, command...); err != nil {
				return err
			}
		}
		got = got[:len(got)-1] // the answer to the mark
		return nil
	})
	return got, err
}

// Get reads a key. What is not there is empty.
func (r *shared) Get(ctx context.Context, key string) (string, error) {
	got, err := r.read(ctx, "GETRANGE", key, "0", "-1")
	if err != nil {
		return "", err
	}
	return got[0], nil
}

// Add adds a member to a set.
func (r *shared) Add(ctx context.Context, key string, member int) error {
	return r.write(ctx, "SADD", key, strconv.Itoa(member))
}

// Remove takes a member from a set.
func (r *shared) Remove(ctx context.Context, key string, member int) error {
	return r.write(ctx, "SREM", key, strconv.Itoa(member))
}

// Members reads a set.
func (r *shared) Members(ctx context.Context, key string) (all []int, err error) {
	got, err := r.read(ctx, "SMEMBERS", key)
	for _, text := range got {
		member, invalid := strconv.Atoi(text)
		all, err = append(all, member), errors.Join(err, invalid)
	}
	return all, err
}

// TestHistoryValkey has clients read and write shared registers and sets through a switchover, and through primaries
// that are killed, frozen with open sessions, and cut off. With strict durability one order explains what they saw,
// whether they go through the agents or to the servers.
func TestHistoryValkey(t *testing.T) {
	for name, proxied := range map[string]bool{"proxied": true, "direct": false} {
		t.Run(name, func(t *testing.T) {
			if !proxied && !torture() && !*allFlag {
				t.Skip("-all is not set")
			}
			t.Parallel()
			judge(t, begin(t, options{durability: protocol.Strict, members: 3, engine: valkey{}, proxied: proxied}, 1))
		})
	}
}

func judge(t *testing.T, s *story) {
	t.Helper()
	const clients = 6
	histories := map[string]*history.History{
		"registers": history.Start(t.Context(), func(client int) history.Registers {
			return &shared{site: s.site, client: client}
		}, "register-", clients, *seedFlag),
		"sets": history.StartSets(t.Context(), func(client int) history.Sets {
			return &shared{site: s.site, client: clients + client}
		}, "set-", clients, *seedFlag),
	}
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
	for name, h := range histories {
		judged, err := h.Stop(time.Minute)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d operations, the outcome of %d is unknown; judged in %s", name, judged.Operations, judged.Unknown,
			judged.Took)
		if known := judged.Operations - judged.Unknown; known < 100 {
			t.Errorf("%s: %d operations show nothing", name, known)
		}
	}
	s.clients.check(t)
}
