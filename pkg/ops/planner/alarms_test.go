package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// alarmed is a stub engine whose members raise alarms, and are not healthy then.
type alarmed struct {
	compactor
	opstest.Advised
}

func (alarmed) Capabilities() engine.Capabilities { return filed{}.Capabilities() }

func (alarmed) Health(v engine.View, member string) error {
	if a := v.Member(member).Alarms; len(a) > 0 {
		return fmt.Errorf("%s raises %v", member, a)
	}
	return opstest.Stub{}.Health(v, member)
}

func (e alarmed) Successor(v engine.View, except ...string) string {
	for _, r := range v.Voters() {
		if e.Health(v, r.Name) == nil && !slices.Contains(except, r.Name) {
			return r.Name
		}
	}
	return ""
}

// The rest is the plain stub's, to say which of two.
func (alarmed) Name() string { return "alarmed" }

func (alarmed) Tolerates(v engine.View) int { return opstest.Stub{}.Tolerates(v) }

func (e alarmed) CheckAdd(v engine.View) error {
	for _, r := range v.Voters() {
		if err := e.Health(v, r.Name); err != nil {
			return &engine.Refusal{Check: "members-healthy", Reason: err.Error()}
		}
	}
	return nil
}

func (e alarmed) CheckRemove(v engine.View, _ string) error { return e.CheckAdd(v) }

func (alarmed) Options(c *v1alpha1.DatabaseCluster, v string) (map[string]string, error) {
	return opstest.Stub{}.Options(c, v)
}

func (alarmed) CheckSettings(v engine.View, spec v1alpha1.DatabaseClusterSpec, force bool) error {
	return opstest.Stub{}.CheckSettings(v, spec, force)
}

// filled gives every member so much data, of a quota of 1000.
func filled(s *ops.State, data, used int64) {
	for i := range s.View.Members {
		m := &s.View.Members[i]
		m.DataBytes, m.UsedBytes, m.QuotaBytes = data, used, 1000
	}
}

func clearing(members int) ops.State {
	s := opstest.Well(members)
	s.Operation = opstest.Operation(v1alpha1.VerbClearAlarms)
	s.Operation.Spec.Compaction = &v1alpha1.Compaction{Keep: 30, Before: 70}
	return s
}

func TestClearAlarms(t *testing.T) {
	t.Parallel()
	full := func(s *ops.State) {
		filled(s, 1000, 990)
		for _, m := range []string{"db-1", "db-2", "db-3"} {
			opstest.Alarm(s, "NOSPACE", engine.CauseSpace, m)
		}
	}
	damaged := func(s *ops.State) { opstest.Alarm(s, "CORRUPT", engine.CauseDamage, "db-2") }
	did := func(facts ...string) func(*ops.State) {
		return func(s *ops.State) {
			s.Operation.Status.Facts = map[string]string{}
			for _, f := range facts {
				s.Operation.Status.Facts[f] = "done"
			}
		}
	}
	all := []string{"compact-history", "defragment-member/db-2", "defragment-member/db-3", "hand-over/db-2",
		"defragment-member/db-1",
		"clear-alarms/NOSPACE", "prove-write"}
	for name, c := range map[string]struct {
		change []func(*ops.State)
		want   []string
		block  string
	}{
		"none is raised, and a member is down": {change: []func(*ops.State){func(s *ops.State) {
			opstest.Down(s, "db-3",
				observe.ProblemCrashing, 0)
		}}},
		"none is raised": {},
		"full of history: the leader last, disarmed after that, proved at last": {change: []func(*ops.State){full},
			want: all},
		"there is room already": {change: []func(*ops.State){full, func(s *ops.State) { filled(s, 800, 800) }},
			want: []string{"clear-alarms/NOSPACE", "prove-write"}},
		"one is full": {change: []func(*ops.State){full, func(s *ops.State) {
			filled(s, 500,
				500)
			s.View.Members[2].DataBytes = 900
		}},
			want: []string{"compact-history", "defragment-member/db-3", "clear-alarms/NOSPACE", "prove-write"}},
		"of which nobody knows the quota": {change: []func(*ops.State){full, func(s *ops.State) {
			for i := range s.View.Members {
				s.View.Members[i].QuotaBytes = 0
			}
		}}, want: all},
		"no history to drop": {change: []func(*ops.State){full,
			func(s *ops.State) { s.Operation.Spec.Compaction.Before = 0 }},
			want: []string{"defragment-member/db-2"}, block: "the data of db-2 still has 990 of the 1000"},
		"the first one shows that it is not enough": {change: []func(*ops.State){full,
			did(v1alpha1.FactCompacted, etcd.FactDefragmented("db-2"))},
			block: "the data of db-2 still has 1000 of the 1000 bytes"},
		"enough, though not much": {change: []func(*ops.State){full, func(s *ops.State) { filled(s, 940, 940) },
			did(v1alpha1.FactCompacted, etcd.FactDefragmented("db-1"), etcd.FactDefragmented("db-2"),
				etcd.FactDefragmented("db-3"))}, want: []string{"clear-alarms/NOSPACE", "prove-write"}},
		"killed before the proof": {change: []func(*ops.State){func(s *ops.State) {
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "clear-alarms/NOSPACE"}}
		}},
			want: []string{"prove-write"}},
		"proved": {change: []func(*ops.State){did(v1alpha1.FactWritten), func(s *ops.State) {
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "clear-alarms/NOSPACE"}}
		}}},
		"stepped back": {change: []func(*ops.State){full,
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling }}},
		"damage is compared before anything": {change: []func(*ops.State){damaged},
			want: []string{"compare-members", "clear-alarms/CORRUPT", "prove-write"}},
		"damage of one that is no more": {change: []func(*ops.State){func(s *ops.State) {
			opstest.Alarm(s, "CORRUPT",
				engine.CauseDamage, "")
		}},
			want: []string{"compare-members", "clear-alarms/CORRUPT", "prove-write"}},
		"damage before space": {change: []func(*ops.State){full, damaged},
			want: append([]string{"compare-members", "clear-alarms/CORRUPT"}, all...)},
		"a member is down": {change: []func(*ops.State){full,
			func(s *ops.State) {
				opstest.Down(s, "db-3", observe.ProblemCrashing,
					rules.CrashLimit*2)
			}}, block: "db-3 does not answer"},
		"no majority": {change: []func(*ops.State){full, func(s *ops.State) { opstest.NoQuorum(s) }},
			block: "no quorum"},
		"an alarm that nobody knows": {change: []func(*ops.State){func(s *ops.State) {
			opstest.Alarm(s, "NEW",
				engine.CauseUnknown, "db-1")
		}}, block: "what NEW"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := clearing(3)
			for _, change := range c.change {
				change(&s)
			}
			plan := MakePlan(alarmed{}, s)
			var got []string
			for _, step := range plan.Steps {
				got = append(got, step.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if (plan.Blocked != nil) != (c.block != "") || plan.Blocked != nil &&
				!strings.Contains(plan.Blocked.Message, c.block) {
				t.Errorf("blocked %+v, want %q", plan.Blocked, c.block)
			}
		})
	}
}

func TestNoRoomSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := clearing(1)
	filled(&s, 1000, 1000)
	p := For(alarmed{}, s)
	for keep, want := range map[int64]string{
		30: "delete keys and repeat the command; or keep less history: kubectl dbop alarms clear db --keep-revisions 0; " +
			"or allow more data: kubectl dbop configure db --set room=2000, and repeat it then",
		0: "delete keys and repeat the command; or allow more data: kubectl dbop configure db --set room=2000, and " +
			"repeat it then",
	} {
		s.Operation.Spec.Compaction.Keep = keep
		if got := etcd.NoRoom(p, "db-1"); got.Hint != want || got.Kind != ops.Refused {
			t.Errorf("%+v", got)
		}
	}
}

// TestWhatGoesOnUnderAnAlarm: more space is given, or there would be no way out
// of the want of it. Under damage nobody restarts anything, and a member that is
// accused of it bars nobody's replacement.
func TestWhatGoesOnUnderAnAlarm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb   v1alpha1.Verb
		cause  engine.Cause
		accuse string
		goes   bool
	}{
		{v1alpha1.VerbConfigure, engine.CauseSpace, "db-3", true}, {v1alpha1.VerbResize, engine.CauseSpace, "db-1", true},
		{v1alpha1.VerbRestart, engine.CauseSpace, "db-2", true}, {v1alpha1.VerbDefrag, engine.CauseSpace, "db-2", true},
		{v1alpha1.VerbReplaceMember, engine.CauseSpace, "db-3", true},
		{v1alpha1.VerbReplaceMember, engine.CauseDamage, "db-3", true},
		{v1alpha1.VerbReplaceMember, engine.CauseDamage, "db-2", true},
		{v1alpha1.VerbConfigure, engine.CauseDamage, "db-2", false},
		{v1alpha1.VerbRestart, engine.CauseDamage, "db-2", false},
		{v1alpha1.VerbDefrag, engine.CauseDamage, "db-2", false},
		{v1alpha1.VerbAddMember, engine.CauseSpace, "db-2", false},
	} {
		t.Run(fmt.Sprint(c.verb, c.cause, c.accuse), func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			s.Operation = opstest.Operation(c.verb)
			s.Operation.Spec.Pods = map[string]string{"db-1": "a", "db-2": "b", "db-3": "c"}
			s.Operation.Spec.Member, s.Operation.Spec.MemberID, s.Operation.Spec.Waive = "db-2", "id-db-2",
				[]string{"evidence"}
			s.Cluster.Spec.Config = map[string]string{"speed": "high"}
			if c.verb == v1alpha1.VerbAddMember {
				s.Cluster.Spec.Members = 4
			}
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.UID = string(rune('a' + i))
			}
			filled(&s, 1000, 100)
			opstest.Alarm(&s, "ALARM", c.cause, c.accuse)
			plan := MakePlan(alarmed{}, s)
			if goes := plan.Blocked == nil && len(plan.Steps) > 0; goes != c.goes {
				t.Errorf("%+v, blocked %+v", plan.Steps, plan.Blocked)
			}
			if c.cause != engine.CauseSpace {
				return
			}
			s.Operation.ResourceVersion = "7"
			if plan := MakePlan(alarmed{}, s); plan.Blocked != nil || plan.Steps[0].Action == ops.ActionWait {
				t.Errorf("what is in flight can't go on: %+v, blocked %+v", plan.Steps, plan.Blocked)
			}
		})
	}
}

// TestAnAlarmIsNoEvidence of whose data is damaged.
func TestAnAlarmIsNoEvidence(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbReplaceMember)
	s.Operation.Spec.Member, s.Operation.Spec.MemberID = "db-2", "id-db-2"
	opstest.Alarm(&s, "CORRUPT", engine.CauseDamage, "db-2")
	if b := MakePlan(alarmed{}, s).Blocked; b == nil || b.Check != "evidence" ||
		!strings.Contains(b.Hint, "kubectl dbop alarms clear db") {
		t.Errorf("blocked %+v", b)
	}
}

func TestClearAlarmsIsRefusedWhereThereAreNone(t *testing.T) {
	t.Parallel()
	r := Request{Operation: clearing(1).Operation.Spec}
	if err := Check(opstest.Stub{}, r, opstest.Well(1).Cluster); err == nil ||
		!strings.Contains(err.Error(), "stub raises no alarms") {
		t.Errorf("got %v", err)
	}
	if err := Check(alarmed{}, r, opstest.Well(1).Cluster); err != nil {
		t.Error(err)
	}
	if _, err := health.Alarms(opstest.Stub{}, opstest.Well(1)); err == nil {
		t.Error("alarms are listed that nobody raises")
	}
}
