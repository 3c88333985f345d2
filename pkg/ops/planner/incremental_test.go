package planner

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

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

func (e changing) CheckIncremental(c *v1alpha1.DatabaseCluster, _ string) error {
	if c.Spec.Config["notes"] == "off" {
		return &engine.Refusal{Check: "incremental", Reason: "nobody notes what changes"}
	}
	return nil
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

// TestResolveFullEvery: a run of a schedule adds to the newest full backup if that is of the same week, else it is one.
func TestResolveFullEvery(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC) // a Monday in Berlin
	for name, c := range map[string]struct {
		base, repository, zone string
		at                     time.Time
		want                   string
	}{
		"of this week":              {base: "db-20261116T020000Z-0a1b", at: sunday, want: "db-20261116T020000Z-0a1b"},
		"of the week before":        {base: "db-20261115T020000Z-0a1b", at: sunday},
		"of the week before, there": {base: "db-20261116T020000Z-0a1b", at: sunday, zone: "Europe/Berlin"},
		"of another repository":     {base: "db-20261116T020000Z-0a1b", at: sunday, repository: "other"},
		"of no known time":          {base: "full", at: sunday},
	} {
		e := changing{base: engine.BaseOf{Member: "db-2", Backup: c.base, Repository: "offsite"}}
		s := with(v1alpha1.VerbBackup, func(*ops.State) {})()
		s.Now = c.at
		o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: cmp.Or(c.repository, "offsite")}
		o.Scheduled, o.FullEvery, o.TimeZone = true, v1alpha1.Weekly, c.zone
		if err := Resolve(e, &o, s); err != nil || o.Parent != c.want {
			t.Errorf("%s: it adds to %q, want %q; %v", name, o.Parent, c.want, err)
		}
	}
}

// TestDecideFullEvery: a run of a schedule takes all data where nobody can tell any more what changed, and says why.
// What a person asks for is not what it takes.
func TestDecideFullEvery(t *testing.T) {
	t.Parallel()
	since := func(parent, repository string) ops.State {
		return with(v1alpha1.VerbBackup, func(s *ops.State) {
			o := &s.Operation.Spec
			o.Repository, o.FullEvery, o.Parent = repository, v1alpha1.Weekly, parent
		})()
	}
	e := changing{base: engine.BaseOf{Member: "db-2", Backup: "full-1", Repository: "offsite"}}
	for name, c := range map[string]struct {
		s              ops.State
		parent, reason string
	}{
		"what changed":       {since("full-1", "offsite"), "full-1", ""},
		"all, as it is due":  {since("", "offsite"), "", ""},
		"another base":       {since("full-0", "offsite"), "", ""},
		"no base any more":   {since("full-1", "other"), "", "what changed is not known: none is in other"},
		"there was none yet": {since("", "other"), "", "what changed is not known: none is in other"},
	} {
		d := Decide(e, c.s)
		if d.Step == nil || d.Step.Member() == "" || d.Step.Parent != c.parent || d.Step.Reason != c.reason {
			t.Errorf("%s: %+v", name, d)
		}
	}
	taken := &v1alpha1.Operation{Spec: since("full-1", "offsite").Operation.Spec}
	asked := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "offsite"}
	if Verbs().Same(taken, asked) {
		t.Error("what a schedule takes of changes is taken for a full backup")
	}
	if asked.Scheduled = true; !Verbs().Same(taken, asked) {
		t.Error("the next run does not continue it")
	}
}

// TestCheckFullEvery: a schedule that can't be kept is refused before it is written down.
func TestCheckFullEvery(t *testing.T) {
	t.Parallel()
	policy := func(full v1alpha1.Interval) v1alpha1.OperationSpec {
		o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbSchedule}
		o.Policy = &v1alpha1.BackupPolicy{Repository: "offsite", Schedule: "0 2 * * *", Full: full}
		return o
	}
	off := with(v1alpha1.VerbSchedule, func(*ops.State) {})().Cluster
	on := off.DeepCopy()
	off.Spec.Config = map[string]string{"notes": "off"}
	for name, c := range map[string]struct {
		e       engine.Engine
		cluster *v1alpha1.DatabaseCluster
		full    v1alpha1.Interval
		refused string
	}{
		"weekly":      {changing{}, on, v1alpha1.Weekly, ""},
		"each time":   {opstest.Stub{}, off, "", ""},
		"hourly":      {changing{}, on, "hourly", `can't be taken "hourly"`},
		"not set up":  {changing{}, off, v1alpha1.Daily, "nobody notes what changes"},
		"not offered": {opstest.Stub{}, on, v1alpha1.Monthly, "no incremental backups"},
	} {
		err := Check(c.e, Request{Operation: policy(c.full)}, c.cluster)
		if (c.refused == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v", name, err)
		}
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
