package policy

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// lose takes the volume of a member away.
func lose(s *ops.State, name string) {
	opstest.Down(s, name, observe.ProblemUnschedulable, time.Minute)
	s.Kube.Members[s.MemberIndex(name)].Volume = observe.Volume{}
}

func TestSelfHeal(t *testing.T) {
	t.Parallel()
	replaced := func(ago time.Duration, by string) v1alpha1.Operation {
		op := opstest.Operation(v1alpha1.VerbReplaceMember)
		op.Spec.RequestedBy, op.Status.StartedAt = by, metav1.NewTime(opstest.Now().Add(-ago))
		return *op
	}
	for _, row := range []struct {
		name    string
		change  func(*ops.State)
		history []v1alpha1.Operation
		want    string
	}{
		{"at rest", func(*ops.State) {}, nil, ""},
		{"a volume is gone", func(s *ops.State) { lose(s, "db-2") }, nil, "replace-member db-2"},
		{"a volume that is still going", func(s *ops.State) {
			lose(s, "db-2")
			s.Kube.Members[1].Volume = observe.Volume{Exists: true, Terminating: true}
		}, nil, ""},
		{"a volume that goes has an owner", func(s *ops.State) {
			*s = opstest.Differs(*s,
				drift.Difference{Object: "persistentvolumeclaim/db-2", Member: "db-2", Kind: drift.Owner})
			s.Kube.Members[1].Volume.Terminating = true
		}, nil, ""},
		{"two volumes are gone", func(s *ops.State) { lose(s, "db-2"); lose(s, "db-3") }, nil, ""},
		{"a volume is gone and a member is down",
			func(s *ops.State) { lose(s, "db-2"); opstest.Down(s, "db-3", "", 0) }, nil,
			""},
		{"no quorum", func(s *ops.State) { lose(s, "db-2"); opstest.NoQuorum(s) }, nil, ""},
		{"a member crashes since long", func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemCrashing, time.Hour) },
			nil, "replace-member db-2"},
		{"a member crashes since a moment", func(s *ops.State) {
			opstest.Down(s, "db-2", observe.ProblemCrashing,
				time.Minute)
		}, nil, ""},
		{"a member is only down", func(s *ops.State) { opstest.Down(s, "db-2", "", 0) }, nil, ""},
		{"a member wants memory", func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemOOM, time.Hour) }, nil, ""},
		{"a node is lost", func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemNode, time.Hour) }, nil, ""},
		{"a workload was deleted", func(s *ops.State) {
			opstest.Down(s, "db-2", "",
				0)
			s.Kube.Members[1].Workload = observe.Workload{}
		}, nil, "start "},
		{"the budget was deleted", func(s *ops.State) { s.Kube.Budget = nil }, nil, "start "},
		{"a schedule was deleted", func(s *ops.State) {
			*s = opstest.Timed(*s)
			s.Kube.Schedule = &workload.Schedule{Missing: opstest.ScheduleParts()}
		}, nil, "backup-schedule "},
		{"a schedule was changed by hand",
			func(s *ops.State) { *s = opstest.Timed(*s); s.Kube.Schedule.Policy.Schedule = "1 1 1 1 1" }, nil,
			"backup-schedule "},
		{"a schedule's role was changed", func(s *ops.State) {
			*s = opstest.Differs(opstest.Timed(*s), opstest.Edited("role/db-backup", "", "rules"))
		}, nil, "repair "},
		{"a finalizer on a schedule", func(s *ops.State) {
			*s = opstest.Differs(opstest.Timed(*s), drift.Difference{Object: "cronjob/db-backup", Kind: drift.Finalizer,
				Have: "example.com/keep"})
		}, nil, "backup-schedule "},
		{"a schedule is as it should be", func(s *ops.State) { *s = opstest.Timed(*s) }, nil, ""},
		{"a backup is overdue, which nothing mends",
			func(s *ops.State) { *s = opstest.Timed(*s); s.Kube.Schedule.Since = s.Now.Add(-72 * time.Hour) }, nil, ""},
		{"a service was deleted", func(s *ops.State) { *s = opstest.Differs(*s, opstest.Gone("service/db", "")) }, nil,
			"repair "},
		{"a template was changed, which is told", func(s *ops.State) {
			*s = opstest.Differs(*s, opstest.Edited("statefulset/db-2", "db-2", opstest.Image))
		}, nil, ""},
		{"the authority was deleted, which nothing replaces", func(s *ops.State) {
			*s = opstest.Differs(*s, opstest.Gone("secret/db-ca", ""), opstest.Gone("secret/db-2-tls", "db-2"))
		}, nil, ""},
		{"somebody works on it", func(s *ops.State) {
			lose(s,
				"db-2")
			s.Operation = opstest.Operation(v1alpha1.VerbBackup)
		},
			nil, ""},
		{"paused", func(s *ops.State) { lose(s, "db-2"); s.Cluster.Spec.Paused = true }, nil, ""},
		{"stopped", func(s *ops.State) { lose(s, "db-2"); s.Cluster.Spec.Stopped = true }, nil, ""},
		{"not formed", func(s *ops.State) { lose(s, "db-2"); s.Cluster.Status.Bootstrap.ClusterID = "" }, nil, ""},
		{"a certificate runs out", func(s *ops.State) {
			s.Kube.Administrator = &pki.Certificate{Secret: "db-admin-tls", NotAfter: opstest.Now().Add(time.Hour)}
		}, nil, "certificates-rotate "},
		{"one was replaced", func(s *ops.State) { lose(s, "db-2") },
			[]v1alpha1.Operation{replaced(time.Minute, SelfHealedBy)}, "replace-member db-2"},
		{"too many were replaced", func(s *ops.State) { lose(s, "db-2") },
			[]v1alpha1.Operation{replaced(time.Minute, SelfHealedBy), replaced(50*time.Minute, SelfHealedBy)},
			"healing-budget"},
		{"many were, long ago", func(s *ops.State) { lose(s, "db-2") },
			[]v1alpha1.Operation{replaced(time.Minute, SelfHealedBy), replaced(61*time.Minute, SelfHealedBy)},
			"replace-member db-2"},
		{"many were, by people", func(s *ops.State) { lose(s, "db-2") },
			[]v1alpha1.Operation{replaced(time.Minute, "me"), replaced(time.Minute, "me")}, "replace-member db-2"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := opstest.Well(3)
			row.change(&s)
			o, err := SelfHeal(opstest.Stub{}, s, row.history)
			got := ""
			if o != nil {
				got = string(o.Verb) + " " + o.Member
			}
			if e, ok := errors.AsType[*ops.Error](err); ok {
				got = e.Check
			}
			if got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
