package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// filed is a stub engine that knows defragmentation.
type filed struct{ opstest.Stub }

func (filed) Capabilities() engine.Capabilities {
	c := opstest.Stub{}.Capabilities()
	c.DefragmentGain = 800
	return c
}

func TestDefragment(t *testing.T) {
	t.Parallel()
	wasteful := func(change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Operation = opstest.Operation(v1alpha1.VerbDefrag)
		for i := range s.View.Members {
			s.View.Members[i].DataBytes, s.View.Members[i].UsedBytes = 1000, 100
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"followers first, the leader last after it handed over": {
			state: wasteful(nil), want: []string{"defragment-member/db-2", "defragment-member/db-3", "hand-over/db-2",
				"defragment-member/db-1"}},
		"little to gain": {
			state: wasteful(func(s *ops.State) { s.View.Members[1].UsedBytes = 300 }),
			want:  []string{"defragment-member/db-3", "hand-over/db-2", "defragment-member/db-1"}},
		"little to gain, near the quota": {
			state: wasteful(func(s *ops.State) {
				s.View.Members[1].UsedBytes, s.View.Members[1].QuotaBytes = 800, 1100
				s.View.Members[0].UsedBytes, s.View.Members[2].UsedBytes = 900, 900
			}), want: []string{"defragment-member/db-2"}},
		"any gain, by request": {
			state: wasteful(func(s *ops.State) {
				s.Operation.Spec.MinGain = 1
				for i := range s.View.Members {
					s.View.Members[i].UsedBytes = 999
				}
			}), want: []string{"defragment-member/db-2", "defragment-member/db-3", "hand-over/db-2",
				"defragment-member/db-1"}},
		"something is left of a failed try": {
			state: wasteful(func(s *ops.State) {
				s.Kube.Members[1].Pod.UID = "seen"
				s.Operation.Status.Facts = map[string]string{etcd.FactLeftovers("db-2"): "seen",
					etcd.FactDefragmented("db-1"): "x",
					etcd.FactDefragmented("db-3"): "x"}
			}), want: []string{"restart-member/db-2", "defragment-member/db-2"}},
		"what was left went with a restart": {
			state: wasteful(func(s *ops.State) {
				s.Kube.Members[1].Pod.UID = "later"
				s.Operation.Status.Facts = map[string]string{etcd.FactLeftovers("db-2"): "seen",
					etcd.FactDefragmented("db-1"): "x",
					etcd.FactDefragmented("db-3"): "x"}
			}), want: []string{"defragment-member/db-2"}},
		"done once already": {
			state: wasteful(func(s *ops.State) {
				s.Operation.Status.Facts = map[string]string{etcd.FactDefragmented("db-1"): "x",
					etcd.FactDefragmented("db-2"): "x",
					etcd.FactDefragmented("db-3"): "x"}
			})},
		"a member is down": {
			state: wasteful(func(s *ops.State) { s.View.Members[2].Reachable = false }), block: "db-3 does not answer"},
		"a single member, without consent": {
			state: func() ops.State {
				s := opstest.Well(1)
				s.Operation = opstest.Operation(v1alpha1.VerbDefrag)
				s.View.Members[0].DataBytes = 1000
				return s
			}(), block: "a cluster of 1 is down while a member restarts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := MakePlan(filed{}, c.state)
			var got []string
			for _, s := range plan.Steps {
				got = append(got, s.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (plan.Blocked != nil) != (c.block != "") || (plan.Blocked != nil && plan.Blocked.Message != c.block) {
				t.Errorf("blocked %+v, want %q", plan.Blocked, c.block)
			}
		})
	}
	s := wasteful(nil)
	if plan := MakePlan(opstest.Stub{}, s); !plan.Unchanged() {
		t.Errorf("an engine without defragmentation plans %v", plan.Steps)
	}
}

// TestDefragmentIsRefusedWhereNobodyCan: an engine without it is told so before anything is done.
func TestDefragmentIsRefusedWhereNobodyCan(t *testing.T) {
	t.Parallel()
	r := Request{Operation: opstest.Operation(v1alpha1.VerbDefrag).Spec}
	if err := Check(opstest.Stub{}, r, opstest.Well(1).Cluster); err == nil ||
		!strings.Contains(err.Error(), "stub can't be defragmented") {
		t.Errorf("got %v", err)
	}
}
