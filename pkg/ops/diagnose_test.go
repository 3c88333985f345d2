package ops

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// soundState is a healthy cluster of three on three nodes, with a verified backup.
func soundState() State {
	s := well(3)
	for i := range s.Kube.Members {
		s.Kube.Members[i].Pod.Node = "node-" + s.Kube.Members[i].Name
	}
	s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{ID: "b7", Repository: "dir:/backups", Time: metav1.NewTime(s.Now.Add(-time.Hour))}
	s.Cluster.Status.LastVerifiedBackup = s.Cluster.Status.LastBackup
	return s
}

// vanish takes a member's volume and pod, and leaves its workload.
func (s *State) vanish(name string) {
	s.down(name, kube.ProblemUnschedulable, time.Minute)
	s.Kube.Members[s.memberIndex(name)].Volume = kube.Volume{}
}

// podless takes a member's pod and nothing else.
func (s *State) podless(name string) {
	s.down(name, "", 0)
	s.Kube.Members[s.memberIndex(name)].Pod = kube.Pod{}
}

// text is a finding with all that it says, for a search.
func (f Finding) text() string {
	return strings.Join(slices.Concat([]string{string(f.Severity), f.Subject + ":", f.What}, f.Evidence, f.Remedy), " | ")
}

func TestASoundClusterHasNoFindings(t *testing.T) {
	d := Diagnose(stub{}, soundState())
	if !d.Serves || d.QuorumLoss != LossNone || len(d.Findings) < 10 {
		t.Errorf("%+v", d)
	}
	for _, f := range d.Findings {
		if f.Severity != OK || len(f.Remedy) > 0 {
			t.Error(f.text())
		}
	}
}

func TestDiagnose(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*State)
		down   bool
		loss   Loss
		// severity and subject of the finding, and what it must say.
		severity Severity
		subject  string
		says     []string
	}{
		{name: "no cluster", change: func(s *State) { s.Cluster = nil }, down: true, severity: Fail, subject: "cluster", says: []string{"no such cluster"}},
		{name: "let in although they must log in", change: func(s *State) { wantsAuth(s); s.setAuth(engine.AuthOff) }, severity: Fail, subject: "authentication", says: []string{"kubectl dbop auth enable db"}},
		{name: "logins not ours", change: func(s *State) { s.setAuth(engine.AuthOn) }, severity: Warn, subject: "authentication", says: []string{"did not turn that on", "auth disable db"}},
		{name: "logins at some", change: func(s *State) { wantsAuth(s); s.setAuth(engine.AuthOn); oneDiffers(s) }, severity: Warn, subject: "authentication", says: []string{"db-2 says it is off", "replace-member db"}},
		{name: "stopped", change: func(s *State) { s.Cluster.Spec.Stopped = true }, down: true, severity: Warn, subject: "cluster", says: []string{"kubectl dbop start db"}},
		{name: "stopped, a volume is gone", change: func(s *State) { s.Cluster.Spec.Stopped = true; s.vanish("db-2") }, down: true, severity: Fail, subject: "member db-2", says: []string{"its volume is gone"}},
		{name: "not formed", change: func(s *State) { s.Cluster.Status.Formation.ClusterID = "" }, down: true, severity: Fail, subject: "formation", says: []string{"kubectl dbop history db"}},
		{name: "split", change: func(s *State) { s.View.ClusterIDs = []string{"id", "other"}; s.View.Members[2].ClusterID = "other" }, down: true,
			severity: Fail, subject: "identity", says: []string{"split", "db-3 says cluster ID other", "that of db-1, db-2", "delete no volume"}},
		{name: "another identity", change: func(s *State) { s.View.ClusterIDs = []string{"other"} }, down: true, severity: Fail, subject: "identity", says: []string{"another cluster than the recorded"}},
		{name: "foreign objects", change: func(s *State) { s.Kube.Foreign = []string{"service/db"} }, severity: Fail, subject: "objects", says: []string{"service/db"}},
		{name: "services gone", change: func(s *State) { s.Kube.Services = false }, severity: Fail, subject: "objects", says: []string{"missing: a service"}},
		{name: "pods gone", change: func(s *State) { s.noQuorum(); s.podless("db-1"); s.podless("db-2") }, down: true, loss: LossTransient,
			severity: Fail, subject: "quorum", says: []string{"transient", "3 of 3 volumes exist", "kubectl scale statefulset db-1 --replicas=1", "delete no volume"}},
		{name: "two crash on their volumes", change: func(s *State) {
			s.noQuorum()
			s.down("db-1", kube.ProblemCrashing, 0)
			s.down("db-2", kube.ProblemCrashing, 0)
		}, down: true, loss: LossTransient,
			severity: Fail, subject: "quorum", says: []string{"not proven of db-1, db-2", "kubectl dbop logs db"}},
		{name: "one volume and all pods gone", change: func(s *State) { s.noQuorum(); s.vanish("db-1"); s.podless("db-2"); s.podless("db-3") }, down: true, loss: LossTransient,
			severity: Fail, subject: "quorum", says: []string{"transient", "2 of 3 volumes exist"}},
		{name: "two volumes gone", change: func(s *State) { s.noQuorum(); s.vanish("db-1"); s.vanish("db-2") }, down: true, loss: LossPermanent,
			severity: Fail, subject: "quorum", says: []string{"permanent: 2 of 3 volumes", "keep the volumes of db-3", "kubectl dbop restore db --from b7 --repository dir:/backups --in-place --skip-backup"}},
		{name: "two volumes gone, no backup", change: func(s *State) {
			s.noQuorum()
			s.vanish("db-1")
			s.vanish("db-2")
			s.Cluster.Status.LastBackup, s.Cluster.Status.LastVerifiedBackup = nil, nil
		}, down: true, loss: LossPermanent, severity: Fail, subject: "quorum", says: []string{"kubectl dbop backup list db"}},
		{name: "everything gone", change: func(s *State) { s.noQuorum(); s.Kube.Members, s.View.Members = nil, nil }, down: true, loss: LossPermanent,
			severity: Fail, subject: "quorum", says: []string{"0 of 3 volumes exist"}},
		{name: "lost while it grows", change: func(s *State) {
			s.noQuorum()
			s.Cluster.Spec.Members = 5
			s.Operation = operation(v1alpha1.VerbScale)
			s.Operation.Spec.FromMembers = 3
			s.vanish("db-1")
		}, down: true, loss: LossTransient, severity: Fail, subject: "quorum", says: []string{"2 of 3 volumes exist, 2 are"}},
		{name: "a volume of an earlier life is not one", change: func(s *State) {
			s.noQuorum()
			for i := range 2 {
				s.Kube.Members[i].Volume.Token = "old"
			}
		}, down: true, loss: LossPermanent, severity: Fail, subject: "quorum", says: []string{"1 of 3 volumes exist"}},
		{name: "others answer while the quorum is lost", change: func(s *State) { s.noQuorum(); s.podless("db-1"); s.podless("db-2") }, down: true, loss: LossTransient,
			severity: Warn, subject: "member db-3", says: []string{"waits for the others"}},
		{name: "no margin", change: func(s *State) { s.podless("db-3") }, severity: Warn, subject: "quorum", says: []string{"no further failure"}},
		{name: "fewer healthy than a majority", change: func(s *State) { s.podless("db-2"); s.podless("db-3") }, severity: Warn, subject: "quorum", says: []string{"fewer voters than that are healthy"}},
		{name: "two leaders", change: func(s *State) { s.View.Members[1].Role = engine.RoleLeader }, severity: Warn, subject: "leader", says: []string{"do not agree"}},
		{name: "leader not reached", change: func(s *State) { s.View.Members[0].Role = engine.RoleFollower }, severity: Warn, subject: "leader", says: []string{"was not reached"}},
		{name: "nobody leads", change: func(s *State) {
			for i := range s.View.Members {
				s.View.Members[i].Role, s.View.Members[i].Leader = engine.RoleFollower, ""
			}
		}, severity: Fail, subject: "leader", says: []string{"nobody leads"}},
		{name: "too few", change: func(s *State) { s.Cluster.Spec.Members = 5 }, severity: Warn, subject: "size", says: []string{"kubectl dbop scale db --members 5"}},
		{name: "learner left", change: func(s *State) { s.join("db-4", false) }, severity: Warn, subject: "member db-4", says: []string{"a learner", "kubectl dbop scale db --members 3"}},
		{name: "learner of an operation", change: func(s *State) { s.join("db-4", false); s.Operation = operation(v1alpha1.VerbScale) }, severity: Warn, subject: "member db-4", says: []string{"kubectl dbop resume db"}},
		{name: "unstarted voter", change: func(s *State) { s.View.Roster[2].Started = false }, severity: Fail, subject: "member db-3", says: []string{"never started", "kubectl dbop remove-member db db-3"}},
		{name: "left over", change: func(s *State) { s.join("db-4", true); s.View.Roster = s.View.Roster[:3] }, severity: Warn, subject: "member db-4", says: []string{"does not count it", "statefulset/db-4"}},
		{name: "silent", change: func(s *State) { s.View.Members[2] = engine.Member{Name: "db-3", Problem: "connection refused"} }, severity: Fail, subject: "member db-3", says: []string{"does not answer", "connection refused", "kubectl dbop logs db"}},
		{name: "unhealthy", change: func(s *State) { s.View.Members[2].Serving = false }, severity: Fail, subject: "member db-3", says: []string{"does not serve"}},
		{name: "volume gone", change: func(s *State) { s.vanish("db-2") }, severity: Fail, subject: "member db-2", says: []string{"its volume is gone", "kubectl dbop replace-member db db-2"}},
		{name: "volume going", change: func(s *State) { s.Kube.Members[1].Volume.Terminating = true }, severity: Fail, subject: "member db-2", says: []string{"being deleted"}},
		{name: "workload gone", change: func(s *State) { s.podless("db-2"); s.Kube.Members[1].Workload = kube.Workload{} }, severity: Fail, subject: "member db-2", says: []string{"nothing is lost", "kubectl dbop start db"}},
		{name: "starting", change: func(s *State) { s.down("db-2", "", 0) }, severity: Warn, subject: "member db-2", says: []string{"wait"}},
		{name: "image", change: func(s *State) { s.down("db-2", kube.ProblemImage, 0) }, severity: Fail, subject: "member db-2", says: []string{"can't be pulled", "mirror"}},
		{name: "unschedulable", change: func(s *State) { s.down("db-2", kube.ProblemUnschedulable, 0) }, severity: Fail, subject: "member db-2", says: []string{"no node", "as the cluster says", "make room"}},
		{name: "volume pending", change: func(s *State) { s.down("db-2", kube.ProblemVolume, 0) }, severity: Fail, subject: "member db-2", says: []string{"kubectl describe pvc"}},
		{name: "crash loop", change: func(s *State) { s.down("db-2", kube.ProblemCrashing, 0) }, severity: Fail, subject: "member db-2", says: []string{"kubectl dbop logs db", "replace-member"}},
		{name: "out of memory", change: func(s *State) { s.down("db-2", kube.ProblemOOM, 0) }, severity: Fail, subject: "member db-2", says: []string{"more memory"}},
		{name: "disk full", change: func(s *State) { s.down("db-2", kube.ProblemDisk, 0) }, severity: Fail, subject: "member db-2", says: []string{"its disk is full", "kubectl dbop resize db"}},
		{name: "node silent", change: func(s *State) { s.down("db-2", kube.ProblemNode, 0); s.Kube.Members[1].Pod.Node = "n2" }, severity: Fail, subject: "member db-2", says: []string{"kubectl delete node n2"}},
		{name: "node lost", change: func(s *State) { s.down("db-2", kube.ProblemNode, 0) }, severity: Fail, subject: "member db-2", says: []string{"bring the node back"}},
		{name: "alarm", change: func(s *State) { s.alarm("NOSPACE", engine.CauseSpace, "db-1") }, severity: Fail, subject: "alarm NOSPACE", says: []string{"do not disarm"}},
		{name: "quota", change: func(s *State) { s.View.Members[0].DataBytes, s.View.Members[0].QuotaBytes = 90, 100 }, severity: Warn, subject: "space", says: []string{"db-1 fills 90% of its quota"}},
		{name: "quota used up", change: func(s *State) { s.View.Members[0].DataBytes, s.View.Members[0].QuotaBytes = 99, 100 }, severity: Fail, subject: "space", says: []string{"99%"}},
		{name: "mixed versions", change: func(s *State) { s.runs("db-2", "1.0.0") }, severity: Warn, subject: "versions", says: []string{"mixed", "db-2 runs 1.0.0", "kubectl dbop upgrade db --version 1.1.0"}},
		{name: "mixed versions in an upgrade", change: func(s *State) { s.runs("db-2", "1.0.0"); s.Operation = operation(v1alpha1.VerbUpgrade) }, severity: OK, subject: "versions", says: []string{"upgrade is in flight"}},
		{name: "a downgrade that nobody is at", change: func(s *State) { s.View.Downgrade = "1.0.0" }, severity: Warn, subject: "downgrade", says: []string{"nobody can join", "kubectl dbop downgrade db --version 1.0"}},
		{name: "no budget", change: func(s *State) { s.Kube.Budget = nil }, severity: Warn, subject: "disruption budget", says: []string{"there is none"}},
		{name: "one node", change: func(s *State) {
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.Node = "n"
			}
		}, severity: Warn, subject: "nodes", says: []string{"all voters run on node n"}},
		{name: "two of three on a node", change: func(s *State) { s.Kube.Members[0].Pod.Node, s.Kube.Members[1].Pod.Node = "n", "n" }, severity: Warn, subject: "nodes", says: []string{"2 of 3"}},
		{name: "no backup", change: func(s *State) { s.Cluster.Status.LastBackup = nil }, severity: Warn, subject: "backup", says: []string{"kubectl dbop backup db --verify"}},
		{name: "old backup", change: func(s *State) { s.Now = s.Now.Add(72 * time.Hour) }, severity: Warn, subject: "backup", says: []string{"73 hours old"}},
		{name: "unverified backup", change: func(s *State) { s.Cluster.Status.LastVerifiedBackup = nil }, severity: Warn, subject: "backup", says: []string{"kubectl dbop backup verify b7"}},
		{name: "paused operation", change: func(s *State) {
			s.Operation = operation(v1alpha1.VerbScale)
			s.Operation.Status.Phase, s.Operation.Status.StartedAt, s.Operation.Status.Message = v1alpha1.PhasePaused, metav1.NewTime(s.Now), "an image is missing"
		}, severity: Warn, subject: "operation", says: []string{"scale is Paused", "an image is missing", "kubectl dbop resume db"}},
		{name: "forgotten operation", change: func(s *State) {
			s.Operation = operation(v1alpha1.VerbScale)
			s.Operation.Status.StartedAt = metav1.NewTime(s.Now.Add(-time.Hour))
		}, severity: Warn, subject: "operation", says: []string{"did nothing for 1h0m0s"}},
		{name: "running operation", change: func(s *State) {
			s.Operation = operation(v1alpha1.VerbScale)
			s.Operation.Status.StartedAt = metav1.NewTime(s.Now)
		}, severity: OK, subject: "operation", says: []string{"scale is Running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := soundState()
			test.change(&s)
			d := Diagnose(stub{}, s)
			if d.Serves == test.down || d.QuorumLoss != test.loss {
				t.Errorf("serves %t, loss %q; want %t, %q", d.Serves, d.QuorumLoss, !test.down, test.loss)
			}
			i := slices.IndexFunc(d.Findings, func(f Finding) bool { return f.Subject == test.subject && f.Severity == test.severity })
			if i < 0 {
				t.Fatalf("no %s of %q in %+v", test.severity, test.subject, d.Findings)
			}
			for _, words := range test.says {
				if !strings.Contains(d.Findings[i].text(), words) {
					t.Errorf("%q is not in %s", words, d.Findings[i].text())
				}
			}
		})
	}
}

// advised is a stub that knows one alarm.
type advised struct{ stub }

func (advised) SpaceOption() string { return "room" }

func (advised) Advise(_ *v1alpha1.DatabaseCluster, member, alarm string) (engine.Advice, bool) {
	return engine.Advice{Meaning: "it is full", Remedy: []string{"empty " + member}}, alarm == "NOSPACE"
}

func TestTheEngineExplainsItsAlarms(t *testing.T) {
	s := soundState()
	s.alarm("NOSPACE", engine.CauseSpace, "db-1")
	s.alarm("NEW", engine.CauseUnknown, "db-1")
	var seen []string
	for _, f := range Diagnose(advised{}, s).Findings {
		if strings.HasPrefix(f.Subject, "alarm ") {
			seen = append(seen, f.text())
		}
	}
	want := []string{"FAIL | alarm NOSPACE: | it stands against db-1: it is full | empty db-1", "FAIL | alarm NEW: | it stands against db-1 | do not disarm it before its cause is gone"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// TestDiagnoseAndAssessAgree holds the two judgements of one state together.
func TestDiagnoseAndAssessAgree(t *testing.T) {
	for name, change := range map[string]func(*State){
		"well": func(*State) {}, "one down": func(s *State) { s.podless("db-2") }, "no quorum": func(s *State) { s.noQuorum() },
		"split": func(s *State) { s.View.ClusterIDs = []string{"id", "x"} }, "not formed": func(s *State) { s.Cluster.Status.Formation.ClusterID = "" },
		"stopped": func(s *State) { s.Cluster.Spec.Stopped = true },
	} {
		s := soundState()
		change(&s)
		d, v := Diagnose(stub{}, s), Assess(stub{}, s)
		if d.Serves != (v.Level != Down) || (v.Level == Degraded && Count(d.Findings, Fail)+Count(d.Findings, Warn) == 0) {
			t.Errorf("%s: %s, but serves %t with %+v", name, v.Level, d.Serves, d.Findings)
		}
	}
}

// Explain makes the stub one that knows some last words.
func (advised) Explain(_ *v1alpha1.DatabaseCluster, member, words string) (engine.Advice, bool) {
	return engine.Advice{Meaning: "it is rotten", Remedy: []string{"renew " + member}}, words == "as the cluster says"
}

func TestTheEngineExplainsACrash(t *testing.T) {
	s := soundState()
	s.down("db-2", kube.ProblemCrashing, 0)
	for _, want := range []string{"again and again: it is rotten", "renew db-2 | kubectl dbop logs db"} {
		if i := slices.IndexFunc(Diagnose(advised{}, s).Findings, func(f Finding) bool { return strings.Contains(f.text(), want) }); i < 0 {
			t.Errorf("%q is missing", want)
		}
	}
	s.Operation = operation(v1alpha1.VerbUpgrade)
	if i := slices.IndexFunc(Diagnose(advised{}, s).Findings, func(f Finding) bool { return strings.Contains(f.text(), "kubectl dbop cancel db | renew db-2") }); i < 0 {
		t.Error("stepping back is not named first")
	}
}
