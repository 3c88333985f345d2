package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// recorder notes what reaches it.
type recorder struct{ calls []string }

func (r *recorder) note(call string) error { r.calls = append(r.calls, call); return nil }

func (r *recorder) Observe(context.Context, []string) engine.View {
	r.calls = append(r.calls, "observe")
	return engine.View{Quorum: true}
}
func (r *recorder) Register(context.Context, string) error           { return r.note("register") }
func (r *recorder) Promote(context.Context, string) error            { return r.note("promote") }
func (r *recorder) Deregister(context.Context, string, string) error { return r.note("deregister") }
func (r *recorder) HandOver(context.Context, string) error           { return r.note("hand over") }
func (r *recorder) Close() error                                     { return r.note("close") }
func (r *recorder) Snapshot(context.Context, string, io.Writer, func(int64)) error {
	return r.note("snapshot")
}
func (r *recorder) Fingerprint(context.Context, string) (engine.Fingerprint, error) {
	return engine.Fingerprint{Proof: "7"}, r.note("fingerprint")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	ctx, reached := t.Context(), &recorder{}
	s := engine.ReadOnly(reached)
	for name, change := range map[string]func() error{
		"register":   func() error { return s.Register(ctx, "db-1") },
		"promote":    func() error { return s.Promote(ctx, "db-1") },
		"deregister": func() error { return s.Deregister(ctx, "db-1", "1") },
		"hand over":  func() error { return s.HandOver(ctx, "db-1") },
	} {
		if err := change(); !errors.Is(err, engine.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(reached.calls) != 0 {
		t.Errorf("the database saw %v", reached.calls)
	}
	if v := s.Observe(ctx, nil); !v.Quorum {
		t.Error("the view was lost")
	}
	if err := s.Snapshot(ctx, "db-1", &bytes.Buffer{}, nil); err != nil {
		t.Error(err)
	}
	if f, err := s.Fingerprint(ctx, "db-1"); err != nil || f.Proof != "7" {
		t.Errorf("fingerprint %+v, %v", f, err)
	}
	if _, err := s.(engine.Presenter).Present(ctx, "db-1"); !errors.Is(err, engine.ErrReadOnly) {
		t.Errorf("of an engine that shows no certificates: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if want := 4; len(reached.calls) != want {
		t.Errorf("reached: %v, want %d calls", reached.calls, want)
	}
	if _, ok := s.(engine.Preparer); ok {
		t.Error("a dry run could prepare an upgrade")
	}
	if _, ok := s.(engine.AlarmClearer); ok {
		t.Error("a dry run could take an alarm back")
	}
	if _, ok := s.(engine.Compactor); ok {
		t.Error("a dry run could drop history")
	}
	if _, ok := s.(engine.Downgrader); ok {
		t.Error("a dry run could announce a downgrade")
	}
}
