package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// compactor is a stub engine that keeps history, and is at revision 100.
type compactor struct{ filed }

func (compactor) CompactRevision(_ engine.View, revision, keep int64) (int64, error) {
	if revision > 100 {
		return 0, &engine.Refusal{Check: "revision", Reason: "still to come"}
	}
	return max(revision, 100-keep, 0), nil
}

func (compactor) CompactImpact(int64) string { return "the past" }

func compacting(before int64) *v1alpha1.Operation {
	op := opstest.Operation(v1alpha1.VerbCompact)
	op.Spec.Compaction = &v1alpha1.Compaction{Before: before}
	return op
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ops.State)
		before int64
		want   []string
		block  string
	}{
		"once":            {before: 42, want: []string{"compact-history"}},
		"nothing to drop": {},
		"done already": {before: 42,
			change: func(s *ops.State) { s.Operation.Status.Facts = map[string]string{v1alpha1.FactCompacted: "42"} }},
		"stepped back": {before: 42,
			change: func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling }},
		"a member that is down": {before: 42, change: func(s *ops.State) {
			opstest.Down(s, "db-3",
				observe.ProblemCrashing, rules.CrashLimit*2)
		}, want: []string{"compact-history"}},
		"nobody to ask":             {before: 42, change: func(s *ops.State) { opstest.NoQuorum(s) }, block: "quorum"},
		"nobody to ask for nothing": {change: func(s *ops.State) { opstest.NoQuorum(s) }, block: "quorum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			s.Operation = compacting(c.before)
			if c.change != nil {
				c.change(&s)
			}
			plan := MakePlan(compactor{}, s)
			var got []string
			for _, step := range plan.Steps {
				got = append(got, step.ID)
				for _, m := range step.Members {
					if !s.View.Member(m).Reachable {
						t.Errorf("%s is asked, and is down", m)
					}
				}
				if step.Risk != ops.RiskIrreversible || !strings.Contains(step.Title, "42") || step.Reason != "the past" {
					t.Errorf("step %+v", step)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if blocked := plan.Blocked != nil; blocked != (c.block != "") || blocked && plan.Blocked.Check != c.block {
				t.Errorf("blocked %+v, want %q", plan.Blocked, c.block)
			}
		})
	}
}

// TestCompactRevisionIsPinned: a repeat means the revision of the first time.
func TestCompactRevisionIsPinned(t *testing.T) {
	t.Parallel()
	o := v1alpha1.OperationSpec{Verb: v1alpha1.VerbCompact,
		SpaceParameters: v1alpha1.SpaceParameters{Compaction: &v1alpha1.Compaction{Keep: 30}}}
	asked := o
	if err := Resolve(compactor{}, &o, opstest.Well(3)); err != nil || o.Compaction.Before != 70 {
		t.Fatalf("pinned %+v, %v", o.Compaction, err)
	}
	if asked.Compaction.Before != 0 {
		t.Error("the request itself was changed")
	}
	record := &v1alpha1.Operation{Spec: o}
	if !Verbs().Same(record, asked) {
		t.Error("the same command does not continue the record")
	}
	for _, other := range []*v1alpha1.Compaction{{Keep: 31}, {Revision: 70}, nil} {
		r := asked
		r.Compaction = other
		if Verbs().Same(record, r) {
			t.Errorf("%+v continues %+v", other, o.Compaction)
		}
	}
	asked.Compaction = &v1alpha1.Compaction{Revision: 101}
	if err := Resolve(compactor{}, &asked, opstest.Well(3)); err == nil {
		t.Error("a revision that is still to come")
	}
}

func TestCompactIsRefusedWhereThereIsNoHistory(t *testing.T) {
	t.Parallel()
	r := Request{Operation: compacting(0).Spec}
	c := opstest.Well(3).Cluster
	if err := Check(opstest.Stub{}, r, c); err == nil || !strings.Contains(err.Error(), "stub keeps no history") {
		t.Errorf("got %v", err)
	}
	if err := Check(compactor{}, r, c); err != nil {
		t.Error(err)
	}
}
