package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// soundState is a healthy cluster of three on three nodes, with a verified backup.
func soundState() ops.State {
	s := opstest.Well(3)
	for i := range s.Kube.Members {
		s.Kube.Members[i].Pod.Node = "node-" + s.Kube.Members[i].Name
	}
	s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{ID: "b7", Repository: "dir:/backups",
		Time: metav1.NewTime(s.Now.Add(-time.Hour))}
	s.Cluster.Status.LastVerifiedBackup = s.Cluster.Status.LastBackup
	return s
}

// text is a finding with all that it says, for a search.
func text(f ops.Finding) string {
	return strings.Join(slices.Concat([]string{string(f.Severity), f.Subject + ":", f.What}, f.Evidence, f.Remedy), " | ")
}

func TestASoundClusterHasNoFindings(t *testing.T) {
	d := Diagnose(opstest.Stub{}, soundState(), verbs)
	if !d.Serves || d.QuorumLoss != LossNone || len(d.Findings) < 10 {
		t.Errorf("%+v", d)
	}
	for _, f := range d.Findings {
		if f.Severity != ops.OK || len(f.Remedy) > 0 {
			t.Error(text(f))
		}
	}
}

func TestDiagnose(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*ops.State)
		down   bool
		loss   Loss
		// severity and subject of the finding, and what it must say.
		severity ops.Severity
		subject  string
		says     []string
	}{
		{name: "no cluster", change: func(s *ops.State) { s.Cluster = nil }, down: true, severity: ops.Fail,
			subject: "cluster", says: []string{"no such cluster"}},
		{name: "let in although they must log in",
			change: func(s *ops.State) { opstest.WantsAuth(s); s.SetAuth(engine.AuthOff) }, severity: ops.Fail,
			subject: "authentication", says: []string{"kubectl dbop user auth enable db"}},
		{name: "logins not ours", change: func(s *ops.State) { s.SetAuth(engine.AuthOn) }, severity: ops.Warn,
			subject: "authentication", says: []string{"did not enable that", "auth disable db"}},
		{name: "logins at some",
			change:   func(s *ops.State) { opstest.WantsAuth(s); s.SetAuth(engine.AuthOn); opstest.OneDiffers(s) },
			severity: ops.Warn, subject: "authentication", says: []string{"db-2 says it is off", "member replace db"}},
		{name: "stopped", change: func(s *ops.State) { s.Cluster.Spec.Stopped = true }, down: true, severity: ops.Warn,
			subject: "cluster", says: []string{"kubectl dbop start db"}},
		{name: "stopped, a volume is gone", change: func(s *ops.State) {
			s.Cluster.Spec.Stopped = true
			opstest.Vanish(s,
				"db-2")
		}, down: true, severity: ops.Fail, subject: "member db-2", says: []string{"its volume is gone"}},
		{name: "not formed", change: func(s *ops.State) { s.Cluster.Status.Bootstrap.ClusterID = "" }, down: true,
			severity: ops.Fail, subject: "bootstrap", says: []string{"kubectl dbop history db"}},
		{name: "split", change: func(s *ops.State) {
			s.View.ClusterIDs = []string{"id",
				"other"}
			s.View.Members[2].ClusterID = "other"
		}, down: true,
			severity: ops.Fail, subject: "identity",
			says: []string{"split", "db-3 says cluster ID other", "that of db-1, db-2",
				"delete no volume"}},
		{name: "another identity", change: func(s *ops.State) { s.View.ClusterIDs = []string{"other"} }, down: true,
			severity: ops.Fail, subject: "identity", says: []string{"another cluster than the recorded"}},
		{name: "foreign objects", change: func(s *ops.State) { s.Kube.Foreign = []string{"service/db"} },
			severity: ops.Fail,
			subject:  "objects", says: []string{"service/db"}},
		{name: "services gone", change: func(s *ops.State) { s.Kube.Services = false }, severity: ops.Fail,
			subject: "objects", says: []string{"missing: a service"}},
		{name: "pods gone", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Podless(s, "db-1")
			opstest.Podless(s,
				"db-2")
		}, down: true, loss: LossTransient,
			severity: ops.Fail, subject: "quorum", says: []string{"transient", "3 of 3 volumes exist",
				"kubectl scale statefulset db-1 --replicas=1", "delete no volume"}},
		{name: "two crash on their volumes", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Down(s, "db-1", observe.ProblemCrashing, 0)
			opstest.Down(s, "db-2", observe.ProblemCrashing, 0)
		}, down: true, loss: LossTransient,
			severity: ops.Fail, subject: "quorum", says: []string{"not proven of db-1, db-2", "kubectl dbop logs db"}},
		{name: "one volume and all pods gone", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Vanish(s, "db-1")
			opstest.Podless(s, "db-2")
			opstest.Podless(s, "db-3")
		}, down: true, loss: LossTransient,
			severity: ops.Fail, subject: "quorum", says: []string{"transient", "2 of 3 volumes exist"}},
		{name: "two volumes gone", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Vanish(s,
				"db-1")
			opstest.Vanish(s, "db-2")
		}, down: true, loss: LossPermanent,
			severity: ops.Fail, subject: "quorum", says: []string{"permanent: 2 of 3 volumes", "keep the volumes of db-3",
				"kubectl dbop restore db --from b7 --repository dir:/backups --in-place --skip-backup"}},
		{name: "two volumes gone, no backup", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Vanish(s, "db-1")
			opstest.Vanish(s, "db-2")
			s.Cluster.Status.LastBackup, s.Cluster.Status.LastVerifiedBackup = nil, nil
		}, down: true, loss: LossPermanent, severity: ops.Fail, subject: "quorum",
			says: []string{"kubectl dbop backup list db"}},
		{name: "everything gone", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			s.Kube.Members, s.View.Members = nil,
				nil
		}, down: true, loss: LossPermanent,
			severity: ops.Fail, subject: "quorum", says: []string{"0 of 3 volumes exist"}},
		{name: "lost while it grows", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			s.Cluster.Spec.Members = 5
			s.Operation = opstest.Operation(v1alpha1.VerbScale)
			s.Operation.Spec.FromMembers = 3
			opstest.Vanish(s, "db-1")
		}, down: true, loss: LossTransient, severity: ops.Fail, subject: "quorum",
			says: []string{"2 of 3 volumes exist, 2 are"}},
		{name: "a volume of an earlier life is not one", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			for i := range 2 {
				s.Kube.Members[i].Volume.Token = "old"
			}
		}, down: true, loss: LossPermanent, severity: ops.Fail, subject: "quorum", says: []string{"1 of 3 volumes exist"}},
		{name: "others answer while the quorum is lost", change: func(s *ops.State) {
			opstest.NoQuorum(s)
			opstest.Podless(s,
				"db-1")
			opstest.Podless(s, "db-2")
		}, down: true, loss: LossTransient,
			severity: ops.Warn, subject: "member db-3", says: []string{"waits for the others"}},
		{name: "no margin", change: func(s *ops.State) { opstest.Podless(s, "db-3") }, severity: ops.Warn,
			subject: "quorum",
			says:    []string{"no further failure"}},
		{name: "fewer healthy than a majority", change: func(s *ops.State) {
			opstest.Podless(s, "db-2")
			opstest.Podless(s,
				"db-3")
		}, severity: ops.Warn, subject: "quorum", says: []string{"fewer voters than that are healthy"}},
		{name: "two leaders that serve", change: func(s *ops.State) { s.View.Members[1].Role = engine.RoleLeader },
			down: true, severity: ops.Fail,
			subject: "leader", says: []string{"both lead and accept writes"}},
		{name: "two leaders", change: func(s *ops.State) {
			s.View.Members[1].Role,
				s.View.Members[1].Serving = engine.RoleLeader,
				false
		}, severity: ops.Warn, subject: "leader", says: []string{"do not agree"}},
		{name: "leader not reached", change: func(s *ops.State) { s.View.Members[0].Role = engine.RoleFollower },
			severity: ops.Warn, subject: "leader", says: []string{"was not reached"}},
		{name: "nobody leads", change: func(s *ops.State) {
			for i := range s.View.Members {
				s.View.Members[i].Role, s.View.Members[i].Leader = engine.RoleFollower, ""
			}
		}, severity: ops.Fail, subject: "leader", says: []string{"nobody leads"}},
		{name: "too few", change: func(s *ops.State) { s.Cluster.Spec.Members = 5 }, severity: ops.Warn, subject: "size",
			says: []string{"kubectl dbop scale db --members 5"}},
		{name: "learner left", change: func(s *ops.State) { opstest.Join(s, "db-4", false) }, severity: ops.Warn,
			subject: "member db-4", says: []string{"a learner", "kubectl dbop scale db --members 3"}},
		{name: "learner of an operation", change: func(s *ops.State) {
			opstest.Join(s, "db-4", false)
			s.Operation = opstest.Operation(v1alpha1.VerbScale)
		}, severity: ops.Warn, subject: "member db-4", says: []string{"kubectl dbop resume db"}},
		{name: "unstarted voter", change: func(s *ops.State) { s.View.MemberList[2].Started = false }, severity: ops.Fail,
			subject: "member db-3", says: []string{"never started", "kubectl dbop member remove db db-3"}},
		{name: "left over", change: func(s *ops.State) {
			opstest.Join(s, "db-4",
				true)
			s.View.MemberList = s.View.MemberList[:3]
		}, severity: ops.Warn, subject: "member db-4", says: []string{"does not count it", "statefulset/db-4",
			"kubectl dbop member remove db db-4"}},
		{name: "silent", change: func(s *ops.State) {
			s.View.Members[2] = engine.Member{Name: "db-3",
				Problem: "connection refused"}
		}, severity: ops.Fail, subject: "member db-3", says: []string{"does not answer", "connection refused",
			"kubectl dbop logs db"}},
		{name: "unhealthy", change: func(s *ops.State) { s.View.Members[2].Serving = false }, severity: ops.Fail,
			subject: "member db-3", says: []string{"does not serve"}},
		{name: "volume gone", change: func(s *ops.State) { opstest.Vanish(s, "db-2") }, severity: ops.Fail,
			subject: "member db-2", says: []string{"its volume is gone", "kubectl dbop member replace db db-2"}},
		{name: "volume going", change: func(s *ops.State) { s.Kube.Members[1].Volume.Terminating = true },
			severity: ops.Fail,
			subject:  "member db-2", says: []string{"being deleted"}},
		{name: "workload gone", change: func(s *ops.State) {
			opstest.Podless(s,
				"db-2")
			s.Kube.Members[1].Workload = observe.Workload{}
		}, severity: ops.Fail, subject: "member db-2", says: []string{"nothing is lost", "kubectl dbop start db"}},
		{name: "starting", change: func(s *ops.State) { opstest.Down(s, "db-2", "", 0) }, severity: ops.Warn,
			subject: "member db-2", says: []string{"wait"}},
		{name: "image", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemImage, 0) }, severity: ops.Fail,
			subject: "member db-2", says: []string{"can't be pulled", "mirror"}},
		{name: "unschedulable", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemUnschedulable, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"no node", "as the cluster says", "make room"}},
		{name: "volume pending", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemVolume, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"kubectl describe pvc"}},
		{name: "crash loop", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemCrashing, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"kubectl dbop logs db", "member replace"}},
		{name: "out of memory", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemOOM, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"more memory"}},
		{name: "disk full", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemDisk, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"its disk is full", "kubectl dbop resize db"}},
		{name: "node silent", change: func(s *ops.State) {
			opstest.Down(s, "db-2", observe.ProblemNode,
				0)
			s.Kube.Members[1].Pod.Node = "n2"
		}, severity: ops.Fail, subject: "member db-2", says: []string{"kubectl delete node n2"}},
		{name: "node lost", change: func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemNode, 0) },
			severity: ops.Fail, subject: "member db-2", says: []string{"bring the node back"}},
		{name: "alarm", change: func(s *ops.State) { opstest.Alarm(s, "NOSPACE", engine.CauseSpace, "db-1") },
			severity: ops.Fail, subject: "alarm NOSPACE", says: []string{"do not disarm"}},
		{name: "quota", change: func(s *ops.State) { s.View.Members[0].DataBytes, s.View.Members[0].QuotaBytes = 90, 100 },
			severity: ops.Warn, subject: "space", says: []string{"db-1 fills 90% of its quota"}},
		{name: "quota used up", change: func(s *ops.State) {
			s.View.Members[0].DataBytes, s.View.Members[0].QuotaBytes = 99,
				100
		}, severity: ops.Fail, subject: "space", says: []string{"99%"}},
		{name: "mixed versions", change: func(s *ops.State) { opstest.Runs(s, "db-2", "1.0.0") }, severity: ops.Warn,
			subject: "versions", says: []string{"mixed", "db-2 runs 1.0.0", "kubectl dbop upgrade db --version 1.1.0"}},
		{name: "mixed versions in an upgrade", change: func(s *ops.State) {
			opstest.Runs(s, "db-2", "1.0.0")
			s.Operation = opstest.Operation(v1alpha1.VerbUpgrade)
		}, severity: ops.OK, subject: "versions", says: []string{"upgrade is in flight"}},
		{name: "a downgrade that nobody is at", change: func(s *ops.State) { s.View.Downgrade = "1.0.0" },
			severity: ops.Warn,
			subject:  "downgrade", says: []string{"nobody can join", "kubectl dbop downgrade db --version 1.0"}},
		{name: "no budget", change: func(s *ops.State) { s.Kube.Budget = nil }, severity: ops.Warn,
			subject: "disruption budget", says: []string{"there is none"}},
		{name: "one node", change: func(s *ops.State) {
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.Node = "n"
			}
		}, severity: ops.Warn, subject: "nodes", says: []string{"all voters run on node n"}},
		{name: "two of three on a node", change: func(s *ops.State) {
			s.Kube.Members[0].Pod.Node,
				s.Kube.Members[1].Pod.Node = "n", "n"
		}, severity: ops.Warn, subject: "nodes", says: []string{"2 of 3"}},
		{name: "no backup", change: func(s *ops.State) { s.Cluster.Status.LastBackup = nil }, severity: ops.Warn,
			subject: "backup", says: []string{"kubectl dbop backup db --verify"}},
		{name: "old backup", change: func(s *ops.State) { s.Now = s.Now.Add(72 * time.Hour) }, severity: ops.Warn,
			subject: "backup", says: []string{"73 hours old"}},
		{name: "unverified backup", change: func(s *ops.State) { s.Cluster.Status.LastVerifiedBackup = nil },
			severity: ops.Warn, subject: "backup", says: []string{"kubectl dbop backup verify b7 --repository dir:/backups"}},
		{name: "paused operation", change: func(s *ops.State) {
			s.Operation = opstest.Operation(v1alpha1.VerbScale)
			s.Operation.Status.Phase, s.Operation.Status.StartedAt, s.Operation.Status.Message = v1alpha1.PhasePaused,
				metav1.NewTime(s.Now), "an image is missing"
		}, severity: ops.Warn, subject: "operation", says: []string{"scale is Paused", "an image is missing",
			"kubectl dbop resume db"}},
		{name: "forgotten operation", change: func(s *ops.State) {
			s.Operation = opstest.Operation(v1alpha1.VerbScale)
			s.Operation.Status.StartedAt = metav1.NewTime(s.Now.Add(-time.Hour))
		}, severity: ops.Warn, subject: "operation", says: []string{"did nothing for 1h0m0s"}},
		{name: "running operation", change: func(s *ops.State) {
			s.Operation = opstest.Operation(v1alpha1.VerbScale)
			s.Operation.Status.StartedAt = metav1.NewTime(s.Now)
		}, severity: ops.OK, subject: "operation", says: []string{"scale is Running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := soundState()
			test.change(&s)
			d := Diagnose(opstest.Stub{}, s, verbs)
			if d.Serves == test.down || d.QuorumLoss != test.loss {
				t.Errorf("serves %t, loss %q; want %t, %q", d.Serves, d.QuorumLoss, !test.down, test.loss)
			}
			i := slices.IndexFunc(d.Findings, func(f ops.Finding) bool {
				return f.Subject == test.subject &&
					f.Severity == test.severity
			})
			if i < 0 {
				t.Fatalf("no %s of %q in %+v", test.severity, test.subject, d.Findings)
			}
			for _, words := range test.says {
				if !strings.Contains(text(d.Findings[i]), words) {
					t.Errorf("%q is not in %s", words, text(d.Findings[i]))
				}
			}
		})
	}
}

func TestTheEngineExplainsItsAlarms(t *testing.T) {
	s := soundState()
	opstest.Alarm(&s, "NOSPACE", engine.CauseSpace, "db-1")
	opstest.Alarm(&s, "NEW", engine.CauseUnknown, "db-1")
	var seen []string
	for _, f := range Diagnose(opstest.Advised{}, s, verbs).Findings {
		if strings.HasPrefix(f.Subject, "alarm ") {
			seen = append(seen, text(f))
		}
	}
	want := []string{"FAIL | alarm NOSPACE: | it is raised for db-1: it is full | empty db-1",
		"FAIL | alarm NEW: | it is raised for db-1 | do not disarm it before its cause is gone"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// TestDiagnoseAndAssessAgree holds the two judgements of one state together.
func TestDiagnoseAndAssessAgree(t *testing.T) {
	for name, change := range map[string]func(*ops.State){
		"well": func(*ops.State) {}, "one down": func(s *ops.State) { opstest.Podless(s, "db-2") },
		"no quorum":  func(s *ops.State) { opstest.NoQuorum(s) },
		"split":      func(s *ops.State) { s.View.ClusterIDs = []string{"id", "x"} },
		"not formed": func(s *ops.State) { s.Cluster.Status.Bootstrap.ClusterID = "" },
		"stopped":    func(s *ops.State) { s.Cluster.Spec.Stopped = true },
	} {
		s := soundState()
		change(&s)
		d, v := Diagnose(opstest.Stub{}, s, verbs), Assess(opstest.Stub{}, s, verbs)
		if d.Serves != (v.Level != Down) || (v.Level == Degraded &&
			ops.Count(d.Findings, ops.Fail)+ops.Count(d.Findings, ops.Warn) == 0) {
			t.Errorf("%s: %s, but serves %t with %+v", name, v.Level, d.Serves, d.Findings)
		}
	}
}

func TestTheEngineExplainsACrash(t *testing.T) {
	s := soundState()
	opstest.Down(&s, "db-2", observe.ProblemCrashing, 0)
	for _, want := range []string{"again and again: it is rotten", "renew db-2 | kubectl dbop logs db"} {
		if i := slices.IndexFunc(Diagnose(opstest.Advised{}, s, verbs).Findings,
			func(f ops.Finding) bool { return strings.Contains(text(f), want) }); i < 0 {
			t.Errorf("%q is missing", want)
		}
	}
	s.Operation = opstest.Operation(v1alpha1.VerbUpgrade)
	if i := slices.IndexFunc(Diagnose(opstest.Advised{}, s, verbs).Findings,
		func(f ops.Finding) bool { return strings.Contains(text(f), "kubectl dbop cancel db | renew db-2") }); i < 0 {
		t.Error("stepping back is not named first")
	}
}

// witnessed is an engine whose pairs have a witness.
type witnessed struct{ opstest.Stub }

func (witnessed) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 1 }

// TestDiagnoseWitness: a witness beside a pair is a voter that is wanted.
func TestDiagnoseWitness(t *testing.T) {
	for members, want := range map[int32]string{2: "", 3: "3 members vote, 4 are wanted"} {
		s := soundState()
		s.Cluster.Spec.Members, s.View.MemberList[2].Witness = members, true
		got := ""
		for _, f := range Diagnose(witnessed{}, s, verbs).Findings {
			if f.Subject == "size" {
				got = f.What
			}
		}
		if got != want {
			t.Errorf("%d members: %q, want %q", members, got, want)
		}
	}
}
