package ops

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// lose takes the volume of a member away.
func (s *State) lose(name string) {
	s.down(name, kube.ProblemUnschedulable, time.Minute)
	s.Kube.Members[s.memberIndex(name)].Volume = kube.Volume{}
}

func TestHeal(t *testing.T) {
	t.Parallel()
	replaced := func(ago time.Duration, by string) v1alpha1.Operation {
		op := operation(v1alpha1.VerbReplaceMember)
		op.Spec.RequestedBy, op.Status.StartedAt = by, metav1.NewTime(now().Add(-ago))
		return *op
	}
	for _, row := range []struct {
		name    string
		change  func(*State)
		history []v1alpha1.Operation
		want    string
	}{
		{"at rest", func(*State) {}, nil, ""},
		{"a volume is gone", func(s *State) { s.lose("db-2") }, nil, "replace-member db-2"},
		{"a volume that is still going", func(s *State) {
			s.lose("db-2")
			s.Kube.Members[1].Volume = kube.Volume{Exists: true, Terminating: true}
		}, nil, ""},
		{"two volumes are gone", func(s *State) { s.lose("db-2"); s.lose("db-3") }, nil, ""},
		{"a volume is gone and a member is down", func(s *State) { s.lose("db-2"); s.down("db-3", "", 0) }, nil, ""},
		{"no quorum", func(s *State) { s.lose("db-2"); s.noQuorum() }, nil, ""},
		{"a member crashes since long", func(s *State) { s.down("db-2", kube.ProblemCrashing, time.Hour) }, nil, "replace-member db-2"},
		{"a member crashes since a moment", func(s *State) { s.down("db-2", kube.ProblemCrashing, time.Minute) }, nil, ""},
		{"a member is only down", func(s *State) { s.down("db-2", "", 0) }, nil, ""},
		{"a member wants memory", func(s *State) { s.down("db-2", kube.ProblemOOM, time.Hour) }, nil, ""},
		{"a node is lost", func(s *State) { s.down("db-2", kube.ProblemNode, time.Hour) }, nil, ""},
		{"a workload was deleted", func(s *State) { s.down("db-2", "", 0); s.Kube.Members[1].Workload = kube.Workload{} }, nil, "start "},
		{"the budget was deleted", func(s *State) { s.Kube.Budget = nil }, nil, "start "},
		{"a schedule was deleted", func(s *State) { *s = timed(*s); s.Kube.Schedule = &kube.Schedule{Missing: scheduleParts()} }, nil, "backup-schedule "},
		{"a schedule was changed by hand", func(s *State) { *s = timed(*s); s.Kube.Schedule.Policy.Schedule = "1 1 1 1 1" }, nil, "backup-schedule "},
		{"a schedule's role was changed", func(s *State) { *s = differs(timed(*s), edited("role/db-backup", "", "rules")) }, nil, "repair "},
		{"a finalizer on a schedule", func(s *State) {
			*s = differs(timed(*s), kube.Difference{Object: "cronjob/db-backup", Kind: kube.DifferenceFinalizer, Have: "example.com/keep"})
		}, nil, "backup-schedule "},
		{"a schedule is as it should be", func(s *State) { *s = timed(*s) }, nil, ""},
		{"a backup is overdue, which nothing mends", func(s *State) { *s = timed(*s); s.Kube.Schedule.Since = s.Now.Add(-72 * time.Hour) }, nil, ""},
		{"a service was deleted", func(s *State) { *s = differs(*s, gone("service/db", "")) }, nil, "repair "},
		{"a template was changed, which is told", func(s *State) { *s = differs(*s, edited("statefulset/db-2", "db-2", image)) }, nil, ""},
		{"the authority was deleted, which nothing replaces", func(s *State) { *s = differs(*s, gone("secret/db-ca", ""), gone("secret/db-2-tls", "db-2")) }, nil, ""},
		{"somebody works on it", func(s *State) { s.lose("db-2"); s.Operation = operation(v1alpha1.VerbBackup) }, nil, ""},
		{"paused", func(s *State) { s.lose("db-2"); s.Cluster.Spec.Paused = true }, nil, ""},
		{"stopped", func(s *State) { s.lose("db-2"); s.Cluster.Spec.Stopped = true }, nil, ""},
		{"not formed", func(s *State) { s.lose("db-2"); s.Cluster.Status.Formation.ClusterID = "" }, nil, ""},
		{"a certificate runs out", func(s *State) {
			s.Kube.Administrator = &kube.Certificate{Secret: "db-admin-tls", NotAfter: now().Add(time.Hour)}
		}, nil, "certificates-rotate "},
		{"one was replaced", func(s *State) { s.lose("db-2") }, []v1alpha1.Operation{replaced(time.Minute, HealedBy)}, "replace-member db-2"},
		{"too many were replaced", func(s *State) { s.lose("db-2") }, []v1alpha1.Operation{replaced(time.Minute, HealedBy), replaced(50*time.Minute, HealedBy)}, "healing-budget"},
		{"many were, long ago", func(s *State) { s.lose("db-2") }, []v1alpha1.Operation{replaced(time.Minute, HealedBy), replaced(61*time.Minute, HealedBy)}, "replace-member db-2"},
		{"many were, by people", func(s *State) { s.lose("db-2") }, []v1alpha1.Operation{replaced(time.Minute, "me"), replaced(time.Minute, "me")}, "replace-member db-2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := well(3)
			row.change(&s)
			o, err := Heal(stub{}, s, row.history)
			got := ""
			if o != nil {
				got = string(o.Verb) + " " + o.Member
			}
			if e, ok := errors.AsType[*Error](err); ok {
				got = e.Check
			}
			if got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
