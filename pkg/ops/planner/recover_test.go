package planner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// recovering is a cluster of three without quorum, and the request to recover it.
func recovering(method v1alpha1.RecoveryMethod, change func(*ops.State)) ops.State {
	s := opstest.Well(3)
	opstest.NoQuorum(&s)
	change(&s)
	s.Operation = opstest.Operation(v1alpha1.VerbRecover)
	s.Operation.Spec.Method = method
	if method == v1alpha1.RecoverBackup {
		s.Operation.Spec.Source = &v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}
	}
	return s
}

// twoLost took the volumes of the first two.
func twoLost(s *ops.State) {
	opstest.Vanish(s, "db-1")
	opstest.Vanish(s, "db-2")
}

// again is how a cluster of three is founded again from a backup, of members under free names.
func rebuilt(first, second, third string) []string {
	return []string{"begin-incarnation", "load-backup/" + first, "start-members/" + first, "wait/formed",
		"record-bootstrap",
		"register-member/" + second, "start-members/" + second, "wait/joined", "promote-member/" + second,
		"register-member/" + third, "start-members/" + third, "wait/joined", "promote-member/" + third}
}

func TestRecover(t *testing.T) {
	t.Parallel()
	crash := func(s *ops.State, names ...string) {
		for _, n := range names {
			opstest.Down(s, n, observe.ProblemCrashing, time.Hour)
		}
	}
	all := func(change func(*observe.Member)) func(*ops.State) {
		return func(s *ops.State) {
			for i := range s.Kube.Members {
				opstest.Down(s, s.Kube.Members[i].Name, "", 0)
				change(&s.Kube.Members[i])
			}
		}
	}
	noPods := all(func(m *observe.Member) { m.Workload, m.Pod = observe.Workload{}, observe.Pod{} })
	idle := all(func(m *observe.Member) { m.Workload.Idle, m.Pod = true, observe.Pod{} })
	recovered := append([]string{"fence-members", "examine-volume/db-3", "recover-data"},
		rebuilt("db-1", "db-2", "db-4")...)
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"pods: the workloads are gone": {state: recovering(v1alpha1.RecoverBringBack, noPods),
			want: []string{"start-members/db-1,db-2,db-3", "wait/quorum"}},
		"pods: the workloads want none": {state: recovering(v1alpha1.RecoverBringBack, idle),
			want: []string{"start-members/db-1,db-2,db-3", "wait/quorum"}},
		"pods: they are coming": {state: recovering(v1alpha1.RecoverBringBack,
			func(s *ops.State) { opstest.Podless(s, "db-1"); opstest.Podless(s, "db-2") }), want: []string{"wait/quorum"}},
		"pods: one volume is lost, two come back": {state: recovering(v1alpha1.RecoverBringBack,
			func(s *ops.State) { noPods(s); opstest.Vanish(s, "db-1") }), want: []string{"start-members/db-2,db-3",
			"wait/quorum"}},
		"pods: two volumes are lost": {state: recovering(v1alpha1.RecoverBringBack, twoLost),
			block: "only 1 of 3 volumes exist, so pods alone make no majority of 2"},
		"pods: two crash": {state: recovering(v1alpha1.RecoverBringBack,
			func(s *ops.State) { crash(s, "db-1", "db-2") }), block: "db-1: CrashLooping: as the cluster says"},
		"pods: on a node called dead": {state: dead(recovering(v1alpha1.RecoverBringBack, func(s *ops.State) {
			opstest.Down(s, "db-1", observe.ProblemNode, time.Hour)
			opstest.Down(s, "db-2", observe.ProblemNode, time.Hour)
			s.Operation = nil
		}), "db-1", "db-2"), want: []string{"forget-pods/db-1,db-2", "wait/quorum"}},
		"data: two volumes are lost": {state: recovering(v1alpha1.RecoverData, twoLost), want: recovered},
		"data: they may come back": {state: recovering(v1alpha1.RecoverData, noPods),
			block: "transient: 3 of 3 volumes exist, 2 are a majority; nothing is lost"},
		"data: they may come back, insisted": {state: waiving(recovering(v1alpha1.RecoverData, noPods), "transient"),
			want: append([]string{"examine-volume/db-1,db-2,db-3", "recover-data"},
				rebuilt("db-4", "db-5", "db-6")...)},
		"data: two crash, which may be the data": {state: recovering(v1alpha1.RecoverData,
			func(s *ops.State) { crash(s, "db-1", "db-2") }), want: append([]string{"fence-members",
			"examine-volume/db-1,db-2,db-3", "recover-data"}, rebuilt("db-4", "db-5", "db-6")...)},
		"data: one can't be seen gone": {state: recovering(v1alpha1.RecoverData,
			func(s *ops.State) {
				twoLost(s)
				opstest.Down(s, "db-3", observe.ProblemNode,
					time.Hour)
			}), block: "db-3 may still run: as the cluster says"},
		"data: its node is dead": {state: dead(recovering(v1alpha1.RecoverData,
			func(s *ops.State) {
				twoLost(s)
				opstest.Down(s, "db-3", observe.ProblemNode,
					time.Hour)
			}), "db-3"), want: recovered},
		"backup: nothing is left": {state: recovering(v1alpha1.RecoverBackup,
			func(s *ops.State) { s.Kube.Members, s.View.Members = nil, nil }), want: rebuilt("db-1", "db-2", "db-3")},
		"backup: one is left": {state: recovering(v1alpha1.RecoverBackup, twoLost),
			want: append([]string{"fence-members"}, rebuilt("db-1", "db-2", "db-4")...)},
		"backup: all may come back": {state: recovering(v1alpha1.RecoverBackup, noPods),
			block: "transient: 3 of 3 volumes exist, 2 are a majority; nothing is lost"},
		"there is a quorum": {state: recovering(v1alpha1.RecoverData,
			func(s *ops.State) { *s = opstest.Well(3) })},
		"split": {state: recovering(v1alpha1.RecoverData, func(s *ops.State) {
			twoLost(s)
			s.View.ClusterIDs = []string{"id", "other"}
		}), block: "the members of db belong to different database clusters ([id other]): this is a split, and going on " +
			"could lose data"},
		"it is stopped": {state: recovering(v1alpha1.RecoverData, func(s *ops.State) { s.Cluster.Spec.Stopped = true }),
			block: "db is stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, salvor{}, c.state, c.want, c.block)
		})
	}
}

func dead(s ops.State, names ...string) ops.State {
	if s.Operation == nil {
		s.Operation = opstest.Operation(v1alpha1.VerbRecover)
		s.Operation.Spec.Method = v1alpha1.RecoverBringBack
	}
	s.Operation.Spec.Dead = names
	return s
}

func waiving(s ops.State, check string) ops.State {
	s.Operation.Spec.Waive = []string{check}
	return s
}

// salvor is a stub that can begin again from data; positions are "term/index".
type salvor struct{ opstest.Stub }

func (salvor) InspectDataDir(string) engine.DataDirInfo { return engine.DataDirInfo{} }

func (salvor) RecoveryPod(engine.PodInput) (engine.Pod, error) { return engine.Pod{}, nil }

func (salvor) DataDirLag(gap engine.Gap) string {
	return fmt.Sprintf("%s, not %s", gap.Member, gap.Leader)
}

func (salvor) SameDatabase(found, recorded string) bool { return found == recorded }

func (salvor) RecoveryNotice() string { return "" }

// CompareDataDirs knows nothing of positions that end in a star.
func (salvor) CompareDataDirs(a, b engine.Position) (int, bool) {
	if strings.HasSuffix(string(a)+string(b), "*") {
		return 0, false
	}
	return strings.Compare(string(a), string(b)), true
}

// TestMostAdvancedData: facts of the examination decide, and nothing else.
func TestMostAdvancedData(t *testing.T) {
	t.Parallel()
	well := func(position string, revision int) string {
		return fmt.Sprintf(`{"intact":true,"clusterID":"id","position":%q,"revision":%d,"summary":"ends at %s"}`, position,
			revision, position)
	}
	const broken = `{"problem":"page 7 is no page","clusterID":"id","position":"9/9"}`
	for name, c := range map[string]struct {
		first, second string
		want          string
		block         string
	}{
		"the second goes further":         {well("3/10", 5), well("3/20", 6), "db-1", ""},
		"the first goes further":          {well("3/20", 6), well("3/10", 5), "db-3", ""},
		"equal":                           {well("3/20", 6), well("3/20", 6), "db-1", ""},
		"higher revision, older term":     {well("2/90", 80), well("3/20", 6), "db-1", ""},
		"the most advanced can't be used": {broken, well("3/20", 6), "db-1", ""},
		"none can be used": {broken, broken, "",
			"no data that is left can be used: db-1: page 7 is no page; db-3: page 7 is no page"},
		"of another cluster": {well("3/20", 6), `{"intact":true,"clusterID":"other"}`, "",
			"not all data is of cluster id: db-1 is of other, db-3 is of id"},
		"the report of a newer tool is kept": {well("3/10", 5),
			`{"intact":true,"clusterID":"id","position":"3/20","new":1}`, "db-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := recovering(v1alpha1.RecoverData, func(s *ops.State) {
				s.Cluster.Spec.Members = 5
				for _, m := range []string{"db-1", "db-2", "db-3"} {
					opstest.Podless(s, m)
					s.Kube.Members[s.MemberIndex(m)].Workload = observe.Workload{}
				}
				s.Kube.Members[s.MemberIndex("db-2")].Volume = observe.Volume{}
			})
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.StepFence}}
			s.Operation.Status.Facts = map[string]string{"examined/db-3": c.first, "examined/db-1": c.second}
			d := Decide(salvor{}, s)
			switch {
			case c.block != "":
				if d.Blocked == nil || d.Blocked.Message != c.block || d.Blocked.Kind != ops.NeedsHuman ||
					d.Blocked.Hint == "" {
					t.Errorf("%+v, want %q", d.Blocked, c.block)
				}
			case d.Step == nil || d.Step.Action != ops.ActionRecoverData || d.Step.Member() != c.want:
				t.Errorf("%+v %+v, want %s", d.Step, d.Blocked, c.want)
			}
		})
	}
}

// TestDivergedData: a person chooses where no data holds all of the others.
func TestDivergedData(t *testing.T) {
	t.Parallel()
	s := recovering(v1alpha1.RecoverData, func(s *ops.State) {
		s.Cluster.Spec.Members = 5
		for _, m := range []string{"db-1", "db-2", "db-3"} {
			opstest.Podless(s, m)
			s.Kube.Members[s.MemberIndex(m)].Workload = observe.Workload{}
		}
		s.Kube.Members[s.MemberIndex("db-2")].Volume = observe.Volume{}
	})
	s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.StepFence}}
	s.Operation.Status.Facts = map[string]string{
		"examined/db-1": `{"intact":true,"clusterID":"id","position":"2/10*","summary":"ends at 2/10"}`,
		"examined/db-3": `{"intact":true,"clusterID":"id","position":"3/5*","summary":"ends at 3/5"}`}
	d := Decide(salvor{}, s)
	if d.Blocked == nil || d.Blocked.Kind != ops.NeedsHuman || d.Blocked.Check != "diverged" || d.Blocked.Message !=
		"db-1 and db-3 may each hold writes that the other does not (db-1: ends at 2/10; db-3: ends at 3/5)" ||
		!strings.Contains(d.Blocked.Hint, "--from db-1") {
		t.Fatalf("%+v", d)
	}
	s.Operation.Spec.Member = "db-3"
	if d = Decide(salvor{}, s); d.Step == nil || d.Step.Action != ops.ActionRecoverData || d.Step.Member() != "db-3" {
		t.Errorf("%+v", d)
	}
}

// TestRecoverTurnsBack: an examination that clears a majority of all doubt.
func TestRecoverTurnsBack(t *testing.T) {
	t.Parallel()
	s := recovering(v1alpha1.RecoverData, func(s *ops.State) {
		for _, m := range []string{"db-1", "db-2"} {
			opstest.Down(s, m, observe.ProblemCrashing, time.Hour)
		}
	})
	s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.StepFence}}
	stopped(&s, []string{"db-1", "db-2", "db-3"})
	const well = `{"intact":true,"clusterID":"id","position":"3/20"}`
	s.Operation.Status.Facts = map[string]string{"examined/db-1": well, "examined/db-2": `{"problem":"bad"}`,
		"examined/db-3": well}
	d := Decide(salvor{}, s)
	if d.Blocked == nil || d.Blocked.Check != "transient" || !strings.Contains(d.Blocked.Hint, "kubectl dbop cancel db") {
		t.Fatalf("%+v", d.Blocked)
	}
	if Verbs().Cancellable(s.Operation) != nil {
		t.Fatal("it can't be stepped back")
	}
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	judge(t, salvor{}, s, []string{"start-members/db-1,db-2,db-3"}, "")
	s.Operation.Status.Phase = v1alpha1.PhaseRunning
	judge(t, salvor{}, waiving(s, "transient"), append([]string{"recover-data"}, rebuilt("db-4", "db-5", "db-6")...), "")
	s.Operation.Status.Journal = append(s.Operation.Status.Journal, v1alpha1.JournalEntry{Step: ops.StepIncarnation})
	if Verbs().Cancellable(s.Operation) == nil {
		t.Error("it can be stepped back from a new incarnation")
	}
}

// TestRecoverLeavesOffWithAQuorum: half way, members come back by themselves.
func TestRecoverLeavesOffWithAQuorum(t *testing.T) {
	t.Parallel()
	s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRecover), false)
	s.Operation.Spec.Method = v1alpha1.RecoverData
	judge(t, salvor{}, s, nil, "")
}

func TestPinRecovery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ops.State)
		ask    func(*v1alpha1.OperationSpec)
		want   v1alpha1.RecoveryMethod
		refuse string
	}{
		"all volumes": {change: func(*ops.State) {}, want: v1alpha1.RecoverBringBack},
		"one volume":  {change: twoLost, want: v1alpha1.RecoverData},
		"one, left out": {change: twoLost, ask: func(o *v1alpha1.OperationSpec) { o.Without = []string{"db-3"} },
			refuse: "there is no verified backup"},
		"one, another is named": {change: twoLost, ask: func(o *v1alpha1.OperationSpec) {
			o.Method, o.Member = v1alpha1.RecoverData, "db-1"
		}, refuse: "there is no volume of db-1"},
		"none, and no backup": {change: func(s *ops.State) { s.Kube.Members = nil }, refuse: "there is no verified backup"},
		"none, data asked for": {change: func(s *ops.State) { s.Kube.Members = nil },
			ask: func(o *v1alpha1.OperationSpec) { o.Method = v1alpha1.RecoverData }, refuse: "no volume of db is left"},
		"none, and a backup": {change: func(s *ops.State) { s.Kube.Members = nil },
			ask:  func(o *v1alpha1.OperationSpec) { o.Source = &v1alpha1.BackupSource{Backup: "b"} },
			want: v1alpha1.RecoverBackup},
		"a claim without volume": {change: func(s *ops.State) {
			for i := range 2 {
				s.Kube.Members[i].Volume.Bound, s.Kube.Members[i].Volume.Problem = false,
					&observe.Problem{Kind: observe.ProblemVolume}
			}
		}, want: v1alpha1.RecoverData},
	} {
		s := opstest.Well(3)
		opstest.NoQuorum(&s)
		c.change(&s)
		o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRecover}
		if c.ask != nil {
			c.ask(&o)
		}
		err := Resolve(salvor{}, &o, s)
		switch {
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)):
			t.Errorf("%s: %v, want %q", name, err, c.refuse)
		case c.refuse == "" && (err != nil || o.Method != c.want || len(o.Evidence) == 0):
			t.Errorf("%s: %q, %v, %v; want %q", name, o.Method, o.Evidence, err, c.want)
		}
	}
}

func TestExaminedSaysWhoWasChosen(t *testing.T) {
	t.Parallel()
	op := opstest.Operation(v1alpha1.VerbRecover)
	op.Status.Facts = map[string]string{"backup": "b",
		"examined/db-1": `{"intact":true,"position":"1/1","summary":"short"}`,
		"examined/db-2": `{"intact":true,"position":"2/2","summary":"long"}`, "examined/db-3": `{"problem":"bad"}`}
	got := strings.Join(operation.Examined(salvor{}, op), "\n")
	if want := "db-1: short (1/1, not 2/2)\ndb-2: long (chosen)\ndb-3: can't be used: bad"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestRecoverNeedsALogin: where the tool's own certificate is missing, silence
// is no evidence. A repair makes it again; if it can't be made, recovery goes on.
func TestRecoverNeedsALogin(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbRecover)
	s.Operation.Spec.Method = v1alpha1.RecoverBringBack
	opstest.NoQuorum(&s)
	for _, m := range []string{"db-1", "db-2", "db-3"} {
		opstest.Down(&s, m, "", 0)
	}
	login := drift.Difference{Object: "secret/db-admin-tls", Kind: drift.Missing}
	s.Kube.Differences = []drift.Difference{login}
	if d := Decide(opstest.Stub{}, s); d.Blocked == nil || d.Blocked.Check != "login" ||
		d.Blocked.Hint != "kubectl dbop repair db" {
		t.Errorf("%+v", d)
	}
	s.Kube.Differences = []drift.Difference{login, {Object: "secret/db-ca", Kind: drift.Missing}}
	if d := Decide(opstest.Stub{}, s); d.Blocked != nil && d.Blocked.Check == "login" {
		t.Errorf("nothing can make it again: %+v", d.Blocked)
	}
}
