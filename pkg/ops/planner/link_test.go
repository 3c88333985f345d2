package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// linking is the cluster of converting whose data is to be converted on the volume of a member.
func linking(t *testing.T) ops.State {
	t.Helper()
	s := converting(t)
	o := &s.Operation.Spec
	o.Waive = append(slices.Clone(o.Waive), ops.WaiverWayBack)
	if err := Resolve(opstest.Converting{}, o, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLinkPlan: one backup is tried, no other one is taken, and the new incarnation begins with the volume of a former
// member. Those of the others stay.
func TestLinkPlan(t *testing.T) {
	t.Parallel()
	s, done := carriedOut(t, linking(t), maxSteps)
	backup := "db-20261125T010203Z-00ff"
	want := []string{"backup/" + backup, "verify-backup/" + backup, "start-converter/db-1", "stop-members",
		"examine-volume/db-1,db-2,db-3", "begin-incarnation", "convert-data/db-1", "start-members/db-1",
		"wait/formed", "record-bootstrap"}
	if len(done) < len(want) || !slices.Equal(done[:len(want)], want) {
		t.Errorf("steps (-want +got):\n%s", cmp.Diff(want, done))
	}
	c := s.Cluster
	if c.Spec.Version != "2.0.0" || c.Spec.RestoreFrom != nil || len(s.View.Voters()) != 3 {
		t.Errorf("it ends with %d members of %s from %+v", len(s.View.Voters()), c.Spec.Version, c.Spec.RestoreFrom)
	}
	for _, name := range []string{"db-2", "db-3"} {
		if m := s.Kube.Member(name); m.Workload.Exists || m.Volume.Token == c.Status.Bootstrap.Token {
			t.Errorf("the former volume of %s is used: %+v", name, m)
		}
	}
	if err := Verbs().Cancellable(s.Operation); err == nil {
		t.Error("it can be stepped back from, once it serves")
	}
	s.Operation.Status.Phase = v1alpha1.PhaseSucceeded
	_, err := Undo(c, []v1alpha1.Operation{*s.Operation})
	if hint := opstest.HintOf(err); !strings.Contains(hint, "--from "+backup) {
		t.Errorf("undo: %v; %s", err, hint)
	}
}

// stepsBack carries out an operation that is stepped back, with what the pod finds on the volume.
func stepsBack(t *testing.T, s ops.State, stage v1alpha1.InPlace) (ops.State, *ops.Error) {
	t.Helper()
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	ApplyTo(s.Cluster, s.Operation)
	for range maxSteps {
		d := Decide(opstest.Converting{}, s)
		if d.Blocked != nil {
			return s, d.Blocked
		}
		if d.Step == nil {
			return s, nil
		}
		s = Predict(opstest.Converting{}, s, *d.Step)
		if d.Step.Action == ops.ActionRevert {
			s.Cluster.Status.Bootstrap.InPlace = stage
		}
	}
	t.Fatal("the way back does not end")
	return s, nil
}

// TestCancelLink: wherever it was killed before the new version was started, cancel leads back to the former version on
// all former volumes. Later it leads back without the volume that was converted, as long as no client can have written,
// and then not at all.
func TestCancelLink(t *testing.T) {
	t.Parallel()
	was := linking(t)
	_, all := carriedOut(t, was, maxSteps)
	converts, starts := slices.Index(all, "convert-data/db-1"), slices.Index(all, "start-members/db-1")
	for killed := range len(all) {
		s, done := carriedOut(t, linking(t), killed)
		back, blocked := stepsBack(t, s, v1alpha1.InPlaceReverted)
		switch {
		case killed > starts:
			if blocked == nil || blocked.Check != ops.WaiverWayBack || !strings.Contains(blocked.Hint, "resume db") {
				t.Errorf("killed after %v, clients may have written, and it goes back: %v", done, blocked)
			}
			continue
		case blocked != nil:
			t.Fatalf("killed after %v: %v", done, blocked)
		}
		if len(back.Kube.Helpers) > 0 {
			t.Errorf("killed after %v: pods are left: %+v", done, back.Kube.Helpers)
		}
		if diff := cmp.Diff(was.Cluster, back.Cluster); diff != "" {
			t.Errorf("killed after %v: the cluster is not what it was (-want +got):\n%s", done, diff)
		}
		for _, name := range []string{"db-1", "db-2", "db-3"} {
			m := back.Kube.Member(name)
			if name == "db-1" && killed > converts { // Loaded: it was started
				if m.Volume.Exists || m.Workload.Exists {
					t.Errorf("killed after %v: what can't go back is left: %+v", done, m)
				}
				continue
			}
			if !m.Workload.Exists || m.Volume.Token != was.Bootstrap().Token || m.Workload.Version != "1.1.0" {
				t.Errorf("killed after %v: %s does not run on its former volume: %+v", done, name, m)
			}
		}
	}
}

// TestCancelLinkKilled: a way back that is killed at any step goes on, and drops no volume that can go back.
func TestCancelLinkKilled(t *testing.T) {
	t.Parallel()
	was := linking(t)
	for _, stage := range []v1alpha1.InPlace{v1alpha1.InPlaceReverted, v1alpha1.InPlaceFinal} {
		s, _ := carriedOut(t, linking(t), 6) // the new incarnation has started, and its volume may be at work
		s.Kube.Members[s.MemberIndex("db-1")].Volume.Token = s.Bootstrap().Token
		back, blocked := stepsBack(t, s, stage)
		if blocked != nil {
			t.Fatalf("%s: %v", stage, blocked)
		}
		m := back.Kube.Member("db-1")
		if stage == v1alpha1.InPlaceFinal && m.Volume.Exists || stage == v1alpha1.InPlaceReverted &&
			(!m.Workload.Exists || m.Volume.Token != was.Bootstrap().Token) {
			t.Errorf("%s: %+v", stage, m)
		}
		// It died between the token of the volume and the record.
		s.Cluster.Status.Bootstrap.InPlace = v1alpha1.InPlaceReverted
		s.Kube.Members[s.MemberIndex("db-1")].Volume.Token = was.Bootstrap().Token
		if back, blocked = stepsBack(t, s, stage); blocked != nil || !back.Kube.Member("db-1").Workload.Exists {
			t.Errorf("%s: %v, %+v", stage, blocked, back.Kube.Member("db-1"))
		}
	}
}

// TestCancelLinkAlone: a member that was alone has no way back once the new version was started on its volume.
func TestCancelLinkAlone(t *testing.T) {
	t.Parallel()
	s, _ := carriedOut(t, linking(t), 6)
	for _, name := range []string{"db-2", "db-3"} {
		DropMember(&s, name)
	}
	s.Operation.Spec.FromMembers = 1
	s.Kube.Members[s.MemberIndex("db-1")].Volume.Token = s.Bootstrap().Token
	_, blocked := stepsBack(t, s, v1alpha1.InPlaceFinal)
	if blocked == nil || blocked.Check != "volumes" || !strings.Contains(blocked.Hint, "resume db") ||
		!strings.Contains(blocked.Hint, "--from db-20261125T010203Z-00ff") {
		t.Errorf("it goes back to data of the new version: %v", blocked)
	}
}

// TestLinkAlone: nothing has to be chosen where there is one volume.
func TestLinkAlone(t *testing.T) {
	t.Parallel()
	s := linking(t)
	for _, name := range []string{"db-2", "db-3"} {
		DropMember(&s, name)
		dropRegistered(&s, name)
	}
	s.Cluster.Spec.Members, s.Operation.Spec.FromMembers = 1, 1
	_, done := carriedOut(t, s, maxSteps)
	at := slices.Index(done, "stop-members")
	if want := []string{"begin-incarnation", "convert-data/db-1"}; at < 0 || !slices.Equal(done[at+1:at+3], want) {
		t.Errorf("%v", done)
	}
}

// TestLinkAgain: who changes their mind on the way back converts the volume again.
func TestLinkAgain(t *testing.T) {
	t.Parallel()
	s, _ := carriedOut(t, linking(t), 6)
	s.Cluster.Status.Bootstrap.InPlace = v1alpha1.InPlaceReverted
	d := Decide(opstest.Converting{}, s)
	if d.Step == nil || d.Step.Action != ops.ActionConvert {
		t.Errorf("it goes on with %+v, %v", d.Step, d.Blocked)
	}
}

// TestLinkChooses: the volume that is converted holds all of the others, and of equals it is that of a primary which
// stopped in order.
func TestLinkChooses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends []engine.DataDirInfo
		want string
	}{
		"of equals that which led": {ends: []engine.DataDirInfo{{Position: "5"}, {Position: "5", InOrder: true},
			{Position: "5"}}, want: "db-2"},
		"a replica is ahead": {ends: []engine.DataDirInfo{{Position: "5", InOrder: true}, {Position: "6"}, {Position: "5"}},
			want: "db-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := carriedOut(t, linking(t), 5)
			for i, end := range c.ends {
				end.Intact = true
				raw, err := json.Marshal(end)
				if err != nil {
					t.Fatal(err)
				}
				s.Operation.Status.Facts[v1alpha1.FactExamined(v1alpha1.MemberName("db", i+1))] = string(raw)
			}
			d := Decide(positioned{}, s)
			if d.Step == nil || d.Step.Member() != c.want {
				t.Errorf("%+v, %v", d.Step, d.Blocked)
			}
		})
	}
}

// positioned orders positions by their text.
type positioned struct {
	opstest.Converting
	engine.DataRecoverer
}

// CompareDataDirs implements engine.DataRecoverer.
func (positioned) CompareDataDirs(a, b engine.Position) (int, bool) {
	return strings.Compare(string(a), string(b)), true
}

// TestLinkEdit: a custom resource gives up the way back among its waived checks.
func TestLinkEdit(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	want := *s.Cluster.Spec.DeepCopy()
	want.Version, want.Waive, want.Backup.Repository = "2.0.0", []string{"downtime", ops.WaiverWayBack}, "pvc:backups"
	o, err := Diff(want, s.Cluster)
	if err != nil || o == nil || o.Verb != v1alpha1.VerbUpgrade || !slices.Contains(o.Waive, ops.WaiverWayBack) {
		t.Errorf("it asks for %+v: %v", o, err)
	}
}

// TestLinkSame: a request that links does not go on with one that does not.
func TestLinkSame(t *testing.T) {
	t.Parallel()
	s := linking(t)
	asked := s.Operation.Spec
	if !Verbs().Continues(asked, s.Operation) {
		t.Error("the same request does not go on")
	}
	asked.Waive = []string{"downtime"}
	if Verbs().Continues(asked, s.Operation) {
		t.Error("who wants a copy goes on with links")
	}
}
