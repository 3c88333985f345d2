package ops

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// differs adds differences to a state.
func differs(s State, all ...kube.Difference) State {
	s.Kube.Differences = all
	return s
}

func gone(object, member string) kube.Difference {
	return kube.Difference{Object: object, Member: member, Kind: kube.DifferenceMissing}
}

func edited(object, member, field string) kube.Difference {
	return kube.Difference{Object: object, Member: member, Kind: kube.DifferenceEdited, Field: field, Want: "good", Have: "bad", By: "kubectl-edit", Since: now()}
}

const image = "spec.template.spec.containers[db].image"

func TestPlanRepair(t *testing.T) {
	t.Parallel()
	crashing := func(s State, names ...string) State {
		for _, n := range names {
			s.down(n, kube.ProblemImage, time.Minute)
		}
		s.noQuorum()
		return s
	}
	for name, row := range map[string]struct {
		state State
		quiet bool
		want  []string
		block string
	}{
		"nothing": {state: well(3)},
		"a second pod first, then what members start with": {state: differs(well(3), edited("service/db-client", "", "spec.selector.role"), gone("secret/db-1-tls", "db-1"), edited("statefulset/db-2", "db-2", "spec.replicas")),
			want: []string{"repair/statefulset/db-2", "repair/secret/db-1-tls", "repair/service/db-client"}},
		"an object once for all of its differences": {state: differs(well(3), edited("service/db", "", "spec.selector.a"), edited("service/db", "", "spec.selector.b")), want: []string{"repair/service/db"}},
		"a pod that was made of it restarts":        {state: differs(well(3), edited("statefulset/db-2", "db-2", image)), want: []string{"repair/statefulset/db-2", "restart-member/db-2"}},
		"a pod that was made before does not": {state: func() State {
			s := differs(well(3), edited("statefulset/db-2", "db-2", image))
			s.Kube.Members[1].Workload.Revision = "new"
			return s
		}(), want: []string{"repair/statefulset/db-2"}},
		"two members can't start, and there is no quorum": {state: crashing(differs(well(3), edited("statefulset/db-2", "db-2", image), edited("statefulset/db-3", "db-3", image)), "db-2", "db-3"),
			want: []string{"repair/statefulset/db-2", "repair/statefulset/db-3", "revive-member/db-2", "revive-member/db-3", "wait/quorum"}},
		"an operator restarts nobody":          {state: differs(well(3), edited("statefulset/db-2", "db-2", image), gone("service/db", "")), quiet: true, want: []string{"repair/service/db"}},
		"what is chosen when a volume is made": {state: differs(well(3), edited("persistentvolumeclaim/db-2", "db-2", "spec.storageClassName"))},
		"the authority is lost":                {state: differs(well(3), gone("secret/db-ca", ""), gone("secret/db-1-tls", "db-1"), gone("service/db", "")), want: []string{"repair/service/db"}, block: "authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := row.state
			s.Cluster.ResourceVersion = "1"
			s.Operation = operation(v1alpha1.VerbRepair)
			s.Operation.Spec.Quiet = row.quiet
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.UID = "uid"
			}
			if err := pin(stub{}, &s.Operation.Spec, s); err != nil {
				t.Fatal(err)
			}
			p := MakePlan(stub{}, s)
			if diff := cmp.Diff(append([]string{}, row.want...), ids(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			got := ""
			if p.Blocked != nil {
				got = p.Blocked.Check
			}
			if got != row.block {
				t.Errorf("blocked by %q (%+v), want %q", got, p.Blocked, row.block)
			}
		})
	}
}

// TestIntact: what would fail with its first step, or spread a damage, is refused before it is written down.
func TestIntact(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		verb v1alpha1.Verb
		d    kube.Difference
		want string
	}{
		"to grow without an authority":            {v1alpha1.VerbScale, gone("secret/db-ca", ""), "blocked Refused altered"},
		"to restart without an authority":         {v1alpha1.VerbRestart, gone("secret/db-ca", ""), "done"},
		"to restart without a certificate":        {v1alpha1.VerbRestart, gone("secret/db-2-tls", "db-2"), "blocked Refused altered"},
		"to restart what has two pods":            {v1alpha1.VerbRestart, edited("statefulset/db-2", "db-2", "spec.replicas"), "blocked Refused altered"},
		"to upgrade without the headless service": {v1alpha1.VerbUpgrade, gone("service/db", ""), "blocked Refused altered"},
		"to restart without the client service":   {v1alpha1.VerbRestart, gone("service/db-client", ""), "done"},
		"to restart with another image":           {v1alpha1.VerbRestart, edited("statefulset/db-2", "db-2", image), "done"},
		"to renew a certificate that ran out":     {v1alpha1.VerbRotateCertificates, kube.Difference{Object: "secret/db-2-tls", Member: "db-2", Kind: kube.DifferenceUnusable}, "wait/certificates"},
		"to recover what was scaled to nothing":   {v1alpha1.VerbRecover, kube.Difference{Object: "statefulset/db-2", Member: "db-2", Kind: kube.DifferenceEdited, Field: "spec.replicas", Want: "1", Have: "0"}, "done"},
		"to stop without an authority":            {v1alpha1.VerbStop, gone("secret/db-ca", ""), "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := differs(well(3), row.d)
			s.Operation = operation(row.verb)
			s.Operation.Spec.Version = s.Cluster.Spec.Version
			d := Decide(stub{}, s)
			if got := decision(d); got != row.want {
				t.Fatalf("%q, want %q", got, row.want)
			}
			if d.Blocked != nil && d.Blocked.Hint != "first: kubectl dbop repair db" {
				t.Errorf("hint %q", d.Blocked.Hint)
			}
		})
	}
}

// TestCancelPutsTemplatesBack: nothing that somebody changed stays behind.
func TestCancelPutsTemplatesBack(t *testing.T) {
	t.Parallel()
	s := differs(well(3), edited("statefulset/db-2", "db-2", image)).doing(operation(v1alpha1.VerbRestart), false)
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	if diff := cmp.Diff([]string{"repair/statefulset/db-2"}, ids(MakePlan(stub{}, s))); diff != "" {
		t.Error(diff)
	}
}

// TestAltered: each difference is told with its effect, its author and the command that mends it.
func TestAltered(t *testing.T) {
	t.Parallel()
	s := differs(well(3), edited("service/db-client", "", "spec.selector.role"), edited("persistentvolumeclaim/db-2", "db-2", "spec.storageClassName"))
	want := []Finding{
		{Severity: Fail, Subject: "service/db-client", What: "spec.selector.role is bad, not good: clients reach the members by this service",
			Evidence: []string{"kubectl-edit wrote it at " + moment(now())}, Remedy: []string{"kubectl dbop repair db"}},
		{Severity: Warn, Subject: "persistentvolumeclaim/db-2", What: "spec.storageClassName is bad, not good: the volume is not as the cluster wants it",
			Evidence: []string{"kubectl-edit wrote it at " + moment(now())}, Remedy: []string{"kubectl dbop replace-member db db-2 --force gives it a new volume"}},
	}
	if diff := cmp.Diff(want, s.Altered()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	v := Assess(stub{}, s)
	if v.Level != Degraded || len(v.Problems) != 2 || !slices.Contains(v.Next, "kubectl dbop repair db") {
		t.Errorf("status %+v", v)
	}
	if n := Count(Diagnose(stub{}, s).Findings, Fail); n != 1 {
		t.Errorf("diagnose: %d failures", n)
	}
}

// TestUnknownMember: an entry of the member list without a name of ours is
// told and refused, and never started.
func TestUnknownMember(t *testing.T) {
	t.Parallel()
	const id = "295fde8afa08b41e"
	with := func(verb v1alpha1.Verb, voter bool) State {
		s := well(3)
		s.View.Roster = append(s.View.Roster, engine.Registered{ID: id, Name: id, Voter: voter})
		if verb != "" {
			s.Operation = operation(verb)
		}
		return s
	}
	v := Assess(stub{}, with("", false))
	if v.Level != Degraded || !slices.Contains(v.Next, "kubectl dbop remove-member db "+id) || len(v.Problems) != 1 {
		t.Errorf("status %+v", v)
	}
	for _, verb := range []v1alpha1.Verb{v1alpha1.VerbScale, v1alpha1.VerbRestart, v1alpha1.VerbAddMember} {
		s := with(verb, false)
		s.Cluster.Spec.Members = 5
		if got := decision(Decide(stub{}, s)); got != "blocked Refused unknown-member" {
			t.Errorf("%s: %q", verb, got)
		}
	}
	cancelled := with(v1alpha1.VerbScale, false).doing(operation(v1alpha1.VerbScale), false)
	cancelled.Operation.Status.Phase = v1alpha1.PhaseCancelling
	if got := ids(MakePlan(stub{}, cancelled)); len(got) != 0 {
		t.Errorf("cancel: %v", got)
	}
	for _, voter := range []bool{false, true} {
		s := with(v1alpha1.VerbRemoveMember, voter)
		s.Operation.Spec.Member = id
		complete(&s.Operation.Spec, s.Cluster)
		if s.Operation.Spec.Members != 3 {
			t.Errorf("%d members are wanted then", s.Operation.Spec.Members)
		}
		if diff := cmp.Diff([]string{"deregister-member/" + id}, ids(MakePlan(stub{}, s))); diff != "" {
			t.Error(diff)
		}
	}
	s := well(3)
	s.Operation = operation(v1alpha1.VerbRemoveMember)
	s.Operation.Spec.Member = "nobody"
	if got := decision(Decide(stub{}, s)); got != "blocked Refused unknown-member" {
		t.Errorf("a name that is none: %q", got)
	}
}
