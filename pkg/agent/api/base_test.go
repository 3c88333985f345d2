package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// incrementer is a driver that copies changes.
type incrementer struct {
	copier

	kept    map[string]string
	reached uint64
}

func (i *incrementer) Bases() (all []Base) {
	for b := range i.kept {
		all = append(all, Base{Backup: b, Repository: "offsite"})
	}
	return all
}

func (i *incrementer) KeepBase(_ context.Context, b Base, content []byte) error {
	if b.Repository != "offsite" {
		return Refused{Why: "not that repository"}
	}
	i.kept[b.Backup] = string(content)
	return nil
}

func (i *incrementer) Increment(_ context.Context, backup string, w io.Writer) error {
	if i.kept[backup] == "" {
		return Refused{Why: "no such base"}
	}
	_, err := io.WriteString(w, "changes since "+backup)
	return err
}

func (*incrementer) Checkpoint(context.Context) (uint64, error) { return 4711, nil }

func (i *incrementer) Reached(_ context.Context, upTo uint64) error {
	i.reached = upTo
	return nil
}

func TestBases(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	driver := &incrementer{kept: map[string]string{}}
	s.Copier = driver
	c := client(t, s)
	large := strings.Repeat("x", 2*mostBody) // other requests are shorter
	if err := c.KeepBase(t.Context(), Base{Backup: "db-1", Repository: "offsite"}, []byte(large)); err != nil {
		t.Fatal(err)
	}
	if driver.kept["db-1"] != large {
		t.Errorf("%d bytes are kept", len(driver.kept["db-1"]))
	}
	st, err := c.Status(t.Context())
	if diff := cmp.Diff([]Base{{Backup: "db-1", Repository: "offsite"}}, st.Server.Bases); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	err = c.KeepBase(t.Context(), Base{Backup: "db-1", Repository: "other"}, []byte("x"))
	if _, refused := errors.AsType[Refused](err); !refused {
		t.Errorf("a driver refuses: %v", err)
	}
	var got bytes.Buffer
	if err := c.Increment(t.Context(), "db-1", 4711, &got); err != nil || got.String() != "changes since db-1" ||
		driver.reached != 4711 {
		t.Errorf("%q up to %d, %v", got.String(), driver.reached, err)
	}
	if err := c.CopyUpTo(t.Context(), 815, io.Discard); err != nil || driver.reached != 815 {
		t.Errorf("a copy up to %d, %v", driver.reached, err)
	}
	err = c.Increment(t.Context(), "db-0", 0, io.Discard)
	if _, refused := errors.AsType[Refused](err); !refused || driver.reached != 815 {
		t.Errorf("a base that is not kept: %v, up to %d", err, driver.reached)
	}
}

// TestBasesLack: a driver that copies no changes says so.
func TestBasesLack(t *testing.T) {
	t.Parallel()
	s := newAgent().service()
	s.Copier = copier{pieces: 1}
	c := client(t, s)
	for name, err := range map[string]error{
		"keep":      c.KeepBase(t.Context(), Base{Backup: "db-1", Repository: "offsite"}, []byte("x")),
		"increment": c.Increment(t.Context(), "db-1", 1, io.Discard),
	} {
		if refused, ok := errors.AsType[Refused](err); !ok || !strings.Contains(refused.Why, "only what changed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.CopyUpTo(t.Context(), 815, io.Discard); err != nil {
		t.Errorf("a copy up to a place: %v", err)
	}
}

// TestCheckpoint is for the primary.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	a := newAgent()
	s := a.service()
	s.Copier = &incrementer{}
	at, err := client(t, s).Checkpoint(t.Context())
	serving := false
	s.Agent.View(func(n *protocol.Node) { serving = n.Document().Phase == protocol.Serving })
	if serving != (err == nil) || serving && at != 4711 {
		t.Errorf("the place is %d, %v, and there is a primary: %t", at, err, serving)
	}
}
