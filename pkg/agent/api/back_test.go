package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// former is m1, which leads a cluster that another one cut over from.
func former(t *testing.T) (*agent, *mover, *Service) {
	t.Helper()
	a, m, s := following(t)
	a.Propose(&protocol.EndSource{Address: "there:6379"})
	a.observe(false)
	if a.follows() {
		t.Fatal("it follows still")
	}
	return a, m, s
}

func TestFollow(t *testing.T) {
	t.Parallel()
	a, m, s := former(t)
	m.may = func() error { return NoBack{Why: "rows would be lost"} }
	to := Follow{Address: "later:5432", TLS: true}
	done, err := client(t, s).Follow(t.Context(), to)
	if err != nil || done.NoBack != "rows would be lost" || a.follows() {
		t.Errorf("without a way back it is %+v, %v", done, err)
	}
	m.may = func() error { return errors.New("it does not answer") }
	_, err = client(t, s).Follow(t.Context(), to)
	if _, refused := errors.AsType[Refused](err); !refused || a.follows() {
		t.Errorf("what may pass is answered %v", err)
	}
	m.may = nil
	// The primary stops to let nobody in, and follows as the next one.
	go func() {
		for !a.follows() {
			time.Sleep(time.Millisecond)
		}
		a.observe(true)
	}()
	for range 2 { // again has no effect
		if done, err := client(t, s).Follow(t.Context(), to); err != nil || done.NoBack != "" || !a.follows() {
			t.Errorf("it is %+v, %v", done, err)
		}
	}
	to.Address = "elsewhere:5432"
	if _, err := client(t, s).Follow(t.Context(), to); err == nil || !strings.Contains(err.Error(), "later:5432 already") {
		t.Errorf("another source: %v", err)
	}
}

// TestFollowOld: as long as one agent does not know the entry, nothing is agreed that it could not apply.
func TestFollowOld(t *testing.T) {
	t.Parallel()
	a, _, s := former(t)
	a.Propose(&protocol.Joined{Member: "m2", Start: 1, Level: 3})
	_, err := client(t, s).Follow(t.Context(), Follow{Address: "later:5432"})
	if err == nil || !strings.Contains(err.Error(), "older") || a.follows() {
		t.Errorf("it ends with %v", err)
	}
}

// TestCutOverNoBack: a way back that can't be prepared is no cut over.
func TestCutOverNoBack(t *testing.T) {
	t.Parallel()
	a, m, s := following(t)
	m.fails = NoBack{Why: "wal_level is replica"}
	out, err := client(t, s).Cutover(t.Context(), Cutover{Back: true})
	if err != nil || out.NoBack != "wal_level is replica" || !a.follows() || !m.back {
		t.Errorf("it is %+v, %v", out, err)
	}
}

// TestEndBack: who has no server has no way back either.
func TestEndBack(t *testing.T) {
	t.Parallel()
	_, m, s := former(t)
	if err := client(t, s).EndBack(t.Context()); err != nil || m.ended != 1 {
		t.Errorf("it ended %d times, %v", m.ended, err)
	}
}

func (m *mover) CanFollow(context.Context, protocol.Source) error {
	if m.may != nil {
		return m.may()
	}
	return nil
}

func (m *mover) EndBack(context.Context) error {
	m.ended++
	return nil
}
