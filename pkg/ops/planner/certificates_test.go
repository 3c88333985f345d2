package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// rotating asks for a rotation of what certified has.
func rotating(t testing.TB, r v1alpha1.Rotation, members int, change func(*ops.State)) ops.State {
	t.Helper()
	s := opstest.Rotation(r, members)
	if err := Resolve(opstest.Stub{}, &s.Operation.Spec, s); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	return s
}

func expired(s *ops.State, names ...string) {
	for i := range s.View.Members {
		m := &s.View.Members[i]
		for _, n := range names {
			if m.Name == n {
				m.Certificate = &engine.Presented{Fingerprint: m.Certificate.Fingerprint,
					NotAfter: opstest.Now().Add(-time.Hour),
					Accepts:  m.Certificate.Accepts}
			}
		}
	}
}

func TestRotateLeaves(t *testing.T) {
	t.Parallel()
	all := []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "renew-certificate/db-1-tls",
		"renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"all": {state: rotating(t, v1alpha1.RotateLeaves, 3, nil), want: all},
		"none twice": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *ops.State) {
			for i := range s.Kube.Leaves {
				if l := &s.Kube.Leaves[i]; l.Member != "db-3" {
					l.Fingerprint = "new"
				}
				s.Reloaded(s.Kube.Leaves[i].Member)
			}
		}), want: all[4:]},
		"the next waits until one is served": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *ops.State) {
			for i := range s.Kube.Leaves {
				if l := &s.Kube.Leaves[i]; l.Use != pki.UseMember || l.Member == "db-1" {
					l.Fingerprint = "new"
				}
			}
		}), want: all[2:]},
		"all at once where the quorum is lost": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *ops.State) {
			expired(s, "db-1", "db-2", "db-3")
			for i := range s.View.Members {
				s.View.Members[i].Reachable = false
			}
			opstest.NoQuorum(s)
		}), want: append(append([]string{}, all...), "wait/quorum")},
		"a secret that was deleted": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *ops.State) {
			s.Kube.Leaves = s.Kube.Leaves[1:]
		}), want: append(append([]string{}, all[:2]...), all[2:]...)},
		"a stopped cluster": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *ops.State) {
			s.Cluster.Spec.Stopped = true
			stopped(s, []string{"db-1", "db-2", "db-3"})
		}), want: all},
		"clients keep the new authority's between the halves": {state: rotating(t, v1alpha1.RotateLeaves, 1,
			opstest.Trusting),
			want: []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls",
				"renew-certificate/db-1-tls"}},
		"no authority": {state: rotating(t, v1alpha1.RotateLeaves, 3,
			func(s *ops.State) { s.Kube.Trust = &pki.Trust{Problem: "secret db-ca is gone"} }),
			block: "secret db-ca is gone"},
		"plain text": {state: rotating(t, v1alpha1.RotateLeaves, 3,
			func(s *ops.State) { s.Cluster.Spec.TLS.Disabled = true }),
			block: "db is served in plain text: there are no certificates"},
		"stepping back issues no more": {state: rotating(t, v1alpha1.RotateLeaves, 3,
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
	s := rotating(t, v1alpha1.RotateLeaves, 1, opstest.Trusting)
	if d := Decide(opstest.Stub{}, s); d.Step == nil || !d.Step.NextCA {
		t.Errorf("the client's certificate goes back to the old authority: %+v", d.Step)
	}
}

func TestRotateAuthority(t *testing.T) {
	t.Parallel()
	begin := []string{"add-authority", "distribute-trust", "restart-member/db-2", "restart-member/db-3", "hand-over/db-2",
		"restart-member/db-1",
		"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls"}
	members := []string{"renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	drop := []string{"distribute-trust", "restart-member/db-2", "restart-member/db-3", "hand-over/db-2",
		"restart-member/db-1"}
	finish := append(append(append([]string{}, members...), "promote-authority"), drop...)
	back := func(change func(*ops.State)) func(*ops.State) {
		return func(s *ops.State) {
			if change != nil {
				change(s)
			}
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		}
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"the first half":       {state: rotating(t, v1alpha1.RotateBegin, 3, nil), want: begin},
		"the first half, done": {state: rotating(t, v1alpha1.RotateBegin, 3, opstest.Trusting)},
		"the second half":      {state: rotating(t, v1alpha1.RotateFinish, 3, opstest.Trusting), want: finish},
		"the second without first": {state: rotating(t, v1alpha1.RotateFinish, 3, nil),
			block: "no change of the authority was started, so there is nothing to finish"},
		"both": {state: rotating(t, v1alpha1.RotateAtOnce, 3, nil),
			want: append(append(append([]string{}, begin...), members...),
				append([]string{"promote-authority"}, "distribute-trust", "restart-member/db-1", "restart-member/db-3",
					"hand-over/db-1", "restart-member/db-2")...)},
		"abandon what was started": {state: rotating(t, v1alpha1.RotateAbandon, 3, opstest.Trusting),
			want: append([]string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "drop-authority"},
				drop...)},
		"stepping back from nothing": {state: rotating(t, v1alpha1.RotateBegin, 3, back(nil))},
		"stepping back before anybody trusts it": {state: rotating(t, v1alpha1.RotateBegin, 3, back(func(s *ops.State) {
			next := opstest.NewCA()
			s.Kube.Trust.Next = &next
		})), want: []string{"drop-authority"}},
		"stepping back from the second half": {state: rotating(t, v1alpha1.RotateFinish, 3, back(func(s *ops.State) {
			opstest.Trusting(s)
			s.Kube.Leaves[0].Signer = opstest.NewCA().Fingerprint
		})), want: members[:1]},
		"too late to step back": {state: rotating(t, v1alpha1.RotateFinish, 3,
			back(func(s *ops.State) { s.Kube.Trust.Current = opstest.NewCA() })),
			block: "the old authority is gone already: nothing is left to go back to"},
		"half distributed": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *ops.State) {
			next := opstest.NewCA()
			s.Kube.Trust.Next = &next
			s.Kube.Leaves[0].Trusts = s.Kube.Trust.Bundle()
		}), want: begin[1:]},
		"a member is down": {state: rotating(t, v1alpha1.RotateBegin, 3,
			func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }), block: "db-3 does not answer"},
		"a single member": {state: rotating(t, v1alpha1.RotateBegin, 1, nil),
			block: "a cluster of 1 is down while a member restarts"},
		"a stopped cluster": {state: rotating(t, v1alpha1.RotateBegin, 3,
			func(s *ops.State) { s.Cluster.Spec.Stopped = true }), block: "db is stopped"},
		"the person's authority is the one in use": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *ops.State) {
			given := opstest.OldCA()
			s.Cluster.Spec.TLS.CASecret, s.Kube.Trust.Given = "corporate", &given
		}), block: "secret corporate holds the authority that signs already"},
		"the person's authority can't sign": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *ops.State) {
			s.Cluster.Spec.TLS.CASecret, s.Kube.Trust.GivenProblem = "corporate",
				"secret shop/corporate: the certificate is no authority's"
		}), block: "secret shop/corporate: the certificate is no authority's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.state.Operation.Status.StartedAt = ops.Stamp(opstest.Now())
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
}

func TestIssuerSignsTheNextAuthority(t *testing.T) {
	t.Parallel()
	s := rotating(t, v1alpha1.RotateBegin, 3, nil)
	s.Cluster.Spec.TLS.Issuer = &v1alpha1.Issuer{Name: "corporate"}
	d := Decide(opstest.Stub{}, s)
	if d.Step == nil || d.Step.Action != ops.ActionAddCA ||
		d.Step.Title != "Have Issuer corporate sign a new authority beside the old one" ||
		d.Step.Deadline != rules.WaitDeadline {
		t.Errorf("decided %+v", d)
	}
}

func TestFoundingJudgesThePersonsAuthority(t *testing.T) {
	t.Parallel()
	s := opstest.Wanted(3)
	s.Cluster.Spec.TLS.CASecret = "mine"
	s.Kube.Trust = &pki.Trust{GivenProblem: "secret shop/mine: certificate and key do not match"}
	judge(t, opstest.Stub{}, s, nil, "secret shop/mine: certificate and key do not match")
	given := opstest.OldCA()
	s.Kube.Trust = &pki.Trust{Given: &given}
	if d := Decide(opstest.Stub{}, s); decision(d) != "create-certificates" {
		t.Errorf("%+v", d)
	}
}

// TestRotationWaitsForQuorum: which member has to restart is not known without a
// majority, and what follows must not begin before all have.
func TestRotationWaitsForQuorum(t *testing.T) {
	t.Parallel()
	lost := func(r v1alpha1.Rotation, change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := rotating(t, r, 3, change)
			opstest.NoQuorum(&s)
			return opstest.Doing(s, s.Operation, false)
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"before clients get theirs", lost(v1alpha1.RotateBegin, func(s *ops.State) {
			next := opstest.NewCA()
			s.Kube.Trust.Next = &next
			for i := range s.Kube.Leaves {
				s.Kube.Leaves[i].Trusts = s.Kube.Trust.Bundle()
			}
		}), "wait/quorum"},
		{"before the new authority takes over", lost(v1alpha1.RotateFinish, opstest.Trusting), "wait/quorum"},
		{"before it is over", lost(v1alpha1.RotateFinish, func(s *ops.State) {
			s.Kube.Trust = &pki.Trust{Current: opstest.OldCA()}
			s.Operation.Spec.Authority = "one before"
		}), "wait/quorum"},
	})
}

// TestRotationContinuesAnywhere: after each step of a rotation, a fresh observation
// leads to the very rest of the plan.
func TestRotationContinuesAnywhere(t *testing.T) {
	t.Parallel()
	for _, r := range []v1alpha1.Rotation{v1alpha1.RotateLeaves, v1alpha1.RotateBegin, v1alpha1.RotateAtOnce} {
		s := rotating(t, r, 3, nil)
		want := opstest.IDs(MakePlan(opstest.Stub{}, s))
		for i := range want {
			got := opstest.IDs(MakePlan(opstest.Stub{}, s))
			if len(got) != len(want)-i {
				t.Fatalf("%s: after %d steps the rest is %v, of %v", r, i, got, want)
			}
			s = Predict(opstest.Stub{}, s, *Decide(opstest.Stub{}, s).Step)
		}
	}
}

// TestAuthorityOverlap: at no moment does a member serve or dial with what
// another one's process does not accept.
func TestAuthorityOverlap(t *testing.T) {
	t.Parallel()
	s := rotating(t, v1alpha1.RotateAtOnce, 3, nil)
	for range maxSteps {
		for _, server := range s.View.Members {
			for _, l := range s.Kube.Leaves {
				name := opstest.OldCA().Subject
				if l.Signer != "ca-old" {
					name = "the new authority"
				}
				known := false
				for _, a := range server.Certificate.Accepts {
					known = known || a == name
				}
				if !known {
					t.Fatalf("%s accepts %v, and %s is signed by %s", server.Name, server.Certificate.Accepts, l.Secret, l.Signer)
				}
			}
		}
		d := Decide(opstest.Stub{}, s)
		if d.Step == nil {
			return
		}
		s = Predict(opstest.Stub{}, s, *d.Step)
	}
	t.Error("no end")
}
