package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// changing is an engine whose members keep what a backup of changes takes, as long as it names one.
type changing struct {
	opstest.Stub

	base engine.BaseOf
}

func (e changing) IncrementalSource(_ engine.View, _ *v1alpha1.DatabaseCluster, repository string) (engine.BaseOf,
	error) {
	if repository != e.base.Repository {
		return engine.BaseOf{}, &engine.Refusal{Check: "incremental", Reason: "none is in " + repository}
	}
	return e.base, nil
}

func (changing) NewBase() engine.Base { return nil }

// TestResolveIncremental: which full backup one adds to is decided once, and an engine without such backups refuses.
func TestResolveIncremental(t *testing.T) {
	t.Parallel()
	e := changing{base: engine.BaseOf{Member: "db-2", Backup: "full-1", Repository: "offsite"}}
	s := with(v1alpha1.VerbBackup, func(*ops.State) {})()
	o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "offsite"}
	if err := Resolve(e, &o, s); err != nil || o.Parent != "" {
		t.Errorf("a full backup adds to %q, %v", o.Parent, err)
	}
	o.Incremental = true
	if err := Resolve(e, &o, s); err != nil || o.Parent != "full-1" {
		t.Errorf("it adds to %q, %v", o.Parent, err)
	}
	o.Repository = "other"
	if err := Resolve(e, &o, s); !errors.Is(err, engine.ErrRefused) {
		t.Errorf("no full backup is there: %v", err)
	}
	if err := Resolve(opstest.Stub{}, &o, s); !errors.Is(err, engine.ErrRefused) ||
		!strings.Contains(err.Error(), "no incremental backups") {
		t.Errorf("an engine without them: %v", err)
	}
}

// TestDecideIncremental: it is streamed by a member that keeps the base, and by no other.
func TestDecideIncremental(t *testing.T) {
	t.Parallel()
	since := func(parent string) func() ops.State {
		return with(v1alpha1.VerbBackup, func(s *ops.State) {
			s.Operation.Spec.Repository, s.Operation.Spec.Incremental, s.Operation.Spec.Parent = "offsite", true, parent
		})
	}
	e := changing{base: engine.BaseOf{Member: "db-2", Backup: "full-1", Repository: "offsite"}}
	d := Decide(e, since("full-1")())
	if d.Step == nil || d.Step.Member() != "db-2" || !strings.Contains(d.Step.Title, "what changed since full-1") {
		t.Errorf("%+v", d)
	}
	if d := Decide(e, since("full-0")()); d.Blocked == nil || d.Blocked.Check != "incremental" {
		t.Errorf("nobody keeps its base: %+v", d)
	}
	if Verbs().Same(&v1alpha1.Operation{Spec: since("full-1")().Operation.Spec},
		v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "offsite"}) {
		t.Error("a full backup is taken for one of changes that is in flight")
	}
}
