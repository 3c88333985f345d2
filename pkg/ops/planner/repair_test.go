package planner

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestPlanRepair(t *testing.T) {
	t.Parallel()
	crashing := func(s ops.State, names ...string) ops.State {
		for _, n := range names {
			opstest.Down(&s, n, observe.ProblemImage, time.Minute)
		}
		opstest.NoQuorum(&s)
		return s
	}
	for name, row := range map[string]struct {
		state ops.State
		quiet bool
		want  []string
		block string
	}{
		"nothing": {state: opstest.Well(3)},
		"a second pod first, then what members start with": {state: opstest.Differs(opstest.Well(3),
			opstest.Edited("service/db-client", "", "spec.selector.role"), opstest.Gone("secret/db-1-tls", "db-1"),
			opstest.Edited("statefulset/db-2", "db-2", "spec.replicas")),
			want: []string{"repair/statefulset/db-2", "repair/secret/db-1-tls", "repair/service/db-client"}},
		"an object once for all of its differences": {state: opstest.Differs(opstest.Well(3),
			opstest.Edited("service/db", "", "spec.selector.a"),
			opstest.Edited("service/db", "", "spec.selector.b")), want: []string{"repair/service/db"}},
		"a pod that was made of it restarts": {state: opstest.Differs(opstest.Well(3),
			opstest.Edited("statefulset/db-2", "db-2", opstest.Image)), want: []string{"repair/statefulset/db-2",
			"restart-member/db-2"}},
		"a pod that was made before does not": {state: func() ops.State {
			s := opstest.Differs(opstest.Well(3), opstest.Edited("statefulset/db-2", "db-2", opstest.Image))
			s.Kube.Members[1].Workload.Revision = "new"
			return s
		}(), want: []string{"repair/statefulset/db-2"}},
		"two members can't start, and there is no quorum": {state: crashing(opstest.Differs(opstest.Well(3),
			opstest.Edited("statefulset/db-2", "db-2", opstest.Image),
			opstest.Edited("statefulset/db-3", "db-3", opstest.Image)), "db-2", "db-3"),
			want: []string{"repair/statefulset/db-2", "repair/statefulset/db-3", "revive-member/db-2", "revive-member/db-3",
				"wait/quorum"}},
		"an operator restarts nobody": {state: opstest.Differs(opstest.Well(3),
			opstest.Edited("statefulset/db-2", "db-2", opstest.Image),
			opstest.Gone("service/db", "")), quiet: true, want: []string{"repair/service/db"}},
		"what is chosen when a volume is made": {state: opstest.Differs(opstest.Well(3),
			opstest.Edited("persistentvolumeclaim/db-2", "db-2", "spec.storageClassName"))},
		"a volume that goes": {state: func() ops.State {
			s := opstest.Differs(opstest.Well(3), drift.Difference{Object: "persistentvolumeclaim/db-2", Member: "db-2",
				Kind: drift.Terminating},
				drift.Difference{Object: "persistentvolumeclaim/db-2", Member: "db-2", Kind: drift.Owner})
			s.Kube.Members[1].Volume.Terminating = true
			return s
		}()},
		"the authority is lost": {state: opstest.Differs(opstest.Well(3), opstest.Gone("secret/db-ca", ""),
			opstest.Gone("secret/db-1-tls", "db-1"), opstest.Gone("service/db",
				"")), want: []string{"repair/service/db"}, block: "authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := row.state
			s.Cluster.ResourceVersion = "1"
			s.Operation = opstest.Operation(v1alpha1.VerbRepair)
			s.Operation.Spec.Quiet = row.quiet
			for i := range s.Kube.Members {
				s.Kube.Members[i].Pod.UID = "uid"
			}
			if err := Resolve(opstest.Stub{}, &s.Operation.Spec, s); err != nil {
				t.Fatal(err)
			}
			p := MakePlan(opstest.Stub{}, s)
			if diff := cmp.Diff(append([]string{}, row.want...), opstest.IDs(p)); diff != "" {
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
		d    drift.Difference
		want string
	}{
		"to grow without an authority": {v1alpha1.VerbScale, opstest.Gone("secret/db-ca", ""),
			"blocked Refused altered"},
		"to restart without an authority": {v1alpha1.VerbRestart, opstest.Gone("secret/db-ca", ""), "done"},
		"to restart without a certificate": {v1alpha1.VerbRestart, opstest.Gone("secret/db-2-tls", "db-2"),
			"blocked Refused altered"},
		"to restart what has two pods": {v1alpha1.VerbRestart,
			opstest.Edited("statefulset/db-2", "db-2", "spec.replicas"), "blocked Refused altered"},
		"to upgrade without the headless service": {v1alpha1.VerbUpgrade, opstest.Gone("service/db", ""),
			"blocked Refused altered"},
		"to restart without the client service": {v1alpha1.VerbRestart, opstest.Gone("service/db-client", ""), "done"},
		"to restart with another image": {v1alpha1.VerbRestart,
			opstest.Edited("statefulset/db-2", "db-2", opstest.Image), "done"},
		"to renew a certificate that ran out": {v1alpha1.VerbRotateCertificates,
			drift.Difference{Object: "secret/db-2-tls", Member: "db-2", Kind: drift.Unusable}, "wait/certificates"},
		"to recover what was scaled to nothing": {v1alpha1.VerbRecover,
			drift.Difference{Object: "statefulset/db-2", Member: "db-2", Kind: drift.Edited,
				Field: "spec.replicas", Want: "1",
				Have: "0"}, "done"},
		"to stop without an authority": {v1alpha1.VerbStop, opstest.Gone("secret/db-ca", ""), "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Differs(opstest.Well(3), row.d)
			s.Operation = opstest.Operation(row.verb)
			s.Operation.Spec.Version = s.Cluster.Spec.Version
			d := Decide(opstest.Stub{}, s)
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
	s := opstest.Doing(opstest.Differs(opstest.Well(3), opstest.Edited("statefulset/db-2", "db-2", opstest.Image)),
		opstest.Operation(v1alpha1.VerbRestart), false)
	s.Operation.Status.Phase = v1alpha1.PhaseCancelling
	if diff := cmp.Diff([]string{"repair/statefulset/db-2"}, opstest.IDs(MakePlan(opstest.Stub{}, s))); diff != "" {
		t.Error(diff)
	}
}

// TestAltered: each difference is told with its effect, its author and the command that mends it.
func TestAltered(t *testing.T) {
	t.Parallel()
	s := opstest.Differs(opstest.Well(3), opstest.Edited("service/db-client", "", "spec.selector.role"),
		opstest.Edited("persistentvolumeclaim/db-2", "db-2", "spec.storageClassName"))
	want := []ops.Finding{
		{Severity: ops.Fail, Subject: "service/db-client",
			What:     "spec.selector.role is bad, not good: clients reach the members by this service",
			Evidence: []string{"kubectl-edit wrote it at " + ops.Moment(opstest.Now())},
			Remedy:   []string{"kubectl dbop repair db"}},
		{Severity: ops.Warn, Subject: "persistentvolumeclaim/db-2",
			What:     "spec.storageClassName is bad, not good: the volume is not as the cluster wants it",
			Evidence: []string{"kubectl-edit wrote it at " + ops.Moment(opstest.Now())},
			Remedy:   []string{"kubectl dbop member replace db db-2 --force gives it a new volume"}},
	}
	if diff := cmp.Diff(want, health.Altered(s)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	v := health.Assess(opstest.Stub{}, s, Verbs())
	if v.Level != health.Degraded || len(v.Problems) != 2 || !slices.Contains(v.Next, "kubectl dbop repair db") {
		t.Errorf("status %+v", v)
	}
	if n := ops.Count(health.Diagnose(opstest.Stub{}, s, Verbs()).Findings, ops.Fail); n != 1 {
		t.Errorf("diagnose: %d failures", n)
	}
}

// TestUnknownMember: an entry of the member list without a name of ours is
// told and refused, and never started.
func TestUnknownMember(t *testing.T) {
	t.Parallel()
	const id = "295fde8afa08b41e"
	with := func(verb v1alpha1.Verb, voter bool) ops.State {
		s := opstest.Well(3)
		s.View.MemberList = append(s.View.MemberList, engine.Registered{ID: id, Name: id, Voter: voter})
		if verb != "" {
			s.Operation = opstest.Operation(verb)
		}
		return s
	}
	v := health.Assess(opstest.Stub{}, with("", false), Verbs())
	if v.Level != health.Degraded || !slices.Contains(v.Next, "kubectl dbop member remove db "+id) ||
		len(v.Problems) != 1 {
		t.Errorf("status %+v", v)
	}
	for _, verb := range []v1alpha1.Verb{v1alpha1.VerbScale, v1alpha1.VerbRestart, v1alpha1.VerbAddMember} {
		s := with(verb, false)
		s.Cluster.Spec.Members = 5
		if got := decision(Decide(opstest.Stub{}, s)); got != "blocked Refused unknown-member" {
			t.Errorf("%s: %q", verb, got)
		}
	}
	cancelled := opstest.Doing(with(v1alpha1.VerbScale, false), opstest.Operation(v1alpha1.VerbScale), false)
	cancelled.Operation.Status.Phase = v1alpha1.PhaseCancelling
	if got := opstest.IDs(MakePlan(opstest.Stub{}, cancelled)); len(got) != 0 {
		t.Errorf("cancel: %v", got)
	}
	for _, voter := range []bool{false, true} {
		s := with(v1alpha1.VerbRemoveMember, voter)
		s.Operation.Spec.Member = id
		Default(&s.Operation.Spec, s.Cluster)
		if s.Operation.Spec.Members != 3 {
			t.Errorf("%d members are wanted then", s.Operation.Spec.Members)
		}
		if diff := cmp.Diff([]string{"deregister-member/" + id}, opstest.IDs(MakePlan(opstest.Stub{}, s))); diff != "" {
			t.Error(diff)
		}
	}
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbRemoveMember)
	s.Operation.Spec.Member = "nobody"
	if got := decision(Decide(opstest.Stub{}, s)); got != "blocked Refused unknown-member" {
		t.Errorf("a name that is none: %q", got)
	}
}

// TestPutBackAuthority: what was added to the authority's secret is taken away,
// also where it is not a field that this tool sets.
func TestPutBackAuthority(t *testing.T) {
	t.Parallel()
	for _, kind := range []drift.Kind{drift.Edited, drift.Owner, drift.Finalizer} {
		s := opstest.Well(3)
		s.Operation, s.Cluster.ResourceVersion = opstest.Operation(v1alpha1.VerbRepair), "1"
		s.Kube.Differences = []drift.Difference{{Object: "secret/db-ca", Kind: kind, Field: "metadata"}}
		if d := Decide(opstest.Stub{}, s); d.Step == nil || d.Step.ID != string(ops.ActionRepair)+"/secret/db-ca" {
			t.Errorf("%s: %+v, %+v", kind, d.Step, d.Blocked)
		}
	}
}

// TestTakenBack: a repair that a person asks for takes back what was set on one member alone, and one of the operator's
// own does not.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	state := func(quiet bool) func() ops.State {
		return func() ops.State {
			s := opstest.Well(3)
			s.Operation, s.Cluster.ResourceVersion = opstest.Operation(v1alpha1.VerbRepair), "1"
			s.Operation.Spec.Quiet = quiet
			s.View.Members[1].Overridden = []string{"cost", "depth"}
			return s
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"asked for", state(false), "take-back-settings/db-2"}, {"by the operator", state(true), "done"},
	})
	s := state(false)()
	if d := Decide(opstest.Stub{}, Predict(opstest.Stub{}, s, *Decide(opstest.Stub{}, s).Step)); !d.Done {
		t.Errorf("then it decides %+v", d)
	}
}
