package ops

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func oldCA() kube.Authority {
	return kube.Authority{Fingerprint: "ca-old", Subject: "CN=shop/db", NotAfter: now().Add(5 * 365 * 24 * time.Hour)}
}

func newCA() kube.Authority {
	return kube.Authority{Fingerprint: "ca-new", Subject: "CN=shop/db #2", NotAfter: now().Add(9 * 365 * 24 * time.Hour)}
}

// certified is a healthy cluster with certificates that are in use.
func certified(members int) State {
	s := well(members)
	s.Kube.Trust = &kube.Trust{Current: oldCA()}
	leaf := func(secret string, use kube.CertificateUse, member string) {
		s.Kube.Leaves = append(s.Kube.Leaves, kube.Certificate{Secret: secret, Use: use, Member: member, Fingerprint: "old-" + secret,
			Signer: "ca-old", Trusts: s.Kube.Trust.Bundle(), NotAfter: now().Add(200 * 24 * time.Hour)})
	}
	for i, m := range s.View.Members {
		leaf(m.Name+"-tls", kube.UseMember, m.Name)
		s.View.Members[i].Certificate = &engine.Presented{Fingerprint: "old-" + m.Name + "-tls", NotAfter: now().Add(200 * 24 * time.Hour), Accepts: []string{oldCA().Subject}}
	}
	leaf("db-admin-tls", kube.UseAdmin, "")
	leaf("db-client-tls", kube.UseClient, "")
	admin, _ := s.Kube.Leaf("db-admin-tls")
	s.Kube.Administrator = &admin
	return s
}

// rotating asks for a rotation of what certified has.
func rotating(t testing.TB, r v1alpha1.Rotation, members int, change func(*State)) State {
	t.Helper()
	s := rotation(r, members)
	if err := pin(stub{}, &s.Operation.Spec, s); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&s)
	}
	return s
}

// rotation is a healthy cluster of which a rotation was asked for.
func rotation(r v1alpha1.Rotation, members int) State {
	s := certified(members)
	s.Operation = operation(v1alpha1.VerbRotateCertificates)
	s.Operation.Spec.Rotation = r
	return s
}

// trusting is the state between the halves.
func trusting(s *State) {
	next := newCA()
	s.Kube.Trust = &kube.Trust{Current: oldCA(), Next: &next}
	for i := range s.Kube.Leaves {
		l := &s.Kube.Leaves[i]
		l.Trusts = s.Kube.Trust.Bundle()
		if l.Use != kube.UseMember {
			l.Signer = next.Fingerprint
		}
	}
	for i := range s.View.Members {
		s.reloaded(s.View.Members[i].Name)
	}
}

func (s *State) expired(names ...string) {
	for i := range s.View.Members {
		m := &s.View.Members[i]
		for _, n := range names {
			if m.Name == n {
				m.Certificate = &engine.Presented{Fingerprint: m.Certificate.Fingerprint, NotAfter: now().Add(-time.Hour), Accepts: m.Certificate.Accepts}
			}
		}
	}
}

func TestRotateLeaves(t *testing.T) {
	t.Parallel()
	all := []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	for name, c := range map[string]struct {
		state State
		want  []string
		block string
	}{
		"all": {state: rotating(t, v1alpha1.RotateLeaves, 3, nil), want: all},
		"none twice": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) {
			for i := range s.Kube.Leaves {
				if l := &s.Kube.Leaves[i]; l.Member != "db-3" {
					l.Fingerprint = "new"
				}
				s.reloaded(s.Kube.Leaves[i].Member)
			}
		}), want: all[4:]},
		"the next waits until one is served": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) {
			for i := range s.Kube.Leaves {
				if l := &s.Kube.Leaves[i]; l.Use != kube.UseMember || l.Member == "db-1" {
					l.Fingerprint = "new"
				}
			}
		}), want: all[2:]},
		"all at once where the quorum is lost": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) {
			s.expired("db-1", "db-2", "db-3")
			for i := range s.View.Members {
				s.View.Members[i].Reachable = false
			}
			s.noQuorum()
		}), want: append(append([]string{}, all...), "wait/quorum")},
		"a secret that was deleted": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) {
			s.Kube.Leaves = s.Kube.Leaves[1:]
		}), want: append(append([]string{}, all[:2]...), all[2:]...)},
		"a stopped cluster": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) {
			s.Cluster.Spec.Stopped = true
			s.stopped([]string{"db-1", "db-2", "db-3"})
		}), want: all},
		"clients keep the new authority's between the halves": {state: rotating(t, v1alpha1.RotateLeaves, 1, trusting),
			want: []string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "renew-certificate/db-1-tls"}},
		"no authority": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) { s.Kube.Trust = &kube.Trust{Problem: "secret db-ca is gone"} }), block: "secret db-ca is gone"},
		"plain text": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) { s.Cluster.Spec.TLS.Disabled = true }),
			block: "db is served in plain text: there are no certificates"},
		"stepping back issues no more": {state: rotating(t, v1alpha1.RotateLeaves, 3, func(s *State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, stub{}, c.state, c.want, c.block)
		})
	}
	s := rotating(t, v1alpha1.RotateLeaves, 1, trusting)
	if d := Decide(stub{}, s); d.Step == nil || !d.Step.NextCA {
		t.Errorf("the client's certificate goes back to the old authority: %+v", d.Step)
	}
}

func TestRotateAuthority(t *testing.T) {
	t.Parallel()
	begin := []string{"add-authority", "distribute-trust", "restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1",
		"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls"}
	members := []string{"renew-certificate/db-1-tls", "renew-certificate/db-2-tls", "renew-certificate/db-3-tls"}
	drop := []string{"distribute-trust", "restart-member/db-2", "restart-member/db-3", "hand-over/db-2", "restart-member/db-1"}
	finish := append(append(append([]string{}, members...), "promote-authority"), drop...)
	back := func(change func(*State)) func(*State) {
		return func(s *State) {
			if change != nil {
				change(s)
			}
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		}
	}
	for name, c := range map[string]struct {
		state State
		want  []string
		block string
	}{
		"the first half":           {state: rotating(t, v1alpha1.RotateBegin, 3, nil), want: begin},
		"the first half, done":     {state: rotating(t, v1alpha1.RotateBegin, 3, trusting)},
		"the second half":          {state: rotating(t, v1alpha1.RotateFinish, 3, trusting), want: finish},
		"the second without first": {state: rotating(t, v1alpha1.RotateFinish, 3, nil), block: "no new authority was begun, so there is nothing to finish"},
		"both": {state: rotating(t, v1alpha1.RotateAtOnce, 3, nil),
			want: append(append(append([]string{}, begin...), members...), append([]string{"promote-authority"}, "distribute-trust", "restart-member/db-1", "restart-member/db-3", "hand-over/db-1", "restart-member/db-2")...)},
		"abandon what was begun": {state: rotating(t, v1alpha1.RotateAbandon, 3, trusting),
			want: append([]string{"renew-certificate/db-admin-tls", "renew-certificate/db-client-tls", "drop-authority"}, drop...)},
		"stepping back from nothing": {state: rotating(t, v1alpha1.RotateBegin, 3, back(nil))},
		"stepping back before anybody trusts it": {state: rotating(t, v1alpha1.RotateBegin, 3, back(func(s *State) {
			next := newCA()
			s.Kube.Trust.Next = &next
		})), want: []string{"drop-authority"}},
		"stepping back from the second half": {state: rotating(t, v1alpha1.RotateFinish, 3, back(func(s *State) {
			trusting(s)
			s.Kube.Leaves[0].Signer = newCA().Fingerprint
		})), want: members[:1]},
		"too late to step back": {state: rotating(t, v1alpha1.RotateFinish, 3, back(func(s *State) { s.Kube.Trust.Current = newCA() })),
			block: "the old authority is gone already: nothing is left to go back to"},
		"half distributed": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *State) {
			next := newCA()
			s.Kube.Trust.Next = &next
			s.Kube.Leaves[0].Trusts = s.Kube.Trust.Bundle()
		}), want: begin[1:]},
		"a member is down":  {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *State) { s.down("db-3", "", 0) }), block: "db-3 does not answer"},
		"a single member":   {state: rotating(t, v1alpha1.RotateBegin, 1, nil), block: "a cluster of 1 is down while a member restarts"},
		"a stopped cluster": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *State) { s.Cluster.Spec.Stopped = true }), block: "db is stopped"},
		"the person's authority is the one in use": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *State) {
			given := oldCA()
			s.Cluster.Spec.TLS.CASecret, s.Kube.Trust.Given = "corporate", &given
		}), block: "secret corporate holds the authority that signs already"},
		"the person's authority can't sign": {state: rotating(t, v1alpha1.RotateBegin, 3, func(s *State) {
			s.Cluster.Spec.TLS.CASecret, s.Kube.Trust.GivenProblem = "corporate", "secret shop/corporate: the certificate is no authority's"
		}), block: "secret shop/corporate: the certificate is no authority's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.state.Operation.Status.StartedAt = stamp(now())
			judge(t, stub{}, c.state, c.want, c.block)
		})
	}
}

func TestIssuerSignsTheNextAuthority(t *testing.T) {
	t.Parallel()
	s := rotating(t, v1alpha1.RotateBegin, 3, nil)
	s.Cluster.Spec.TLS.Issuer = &v1alpha1.Issuer{Name: "corporate"}
	d := Decide(stub{}, s)
	if d.Step == nil || d.Step.Action != ActionAddCA || d.Step.Title != "Have Issuer corporate sign a new authority beside the old one" || d.Step.Deadline != waitDeadline {
		t.Errorf("decided %+v", d)
	}
}

func TestFoundingJudgesThePersonsAuthority(t *testing.T) {
	t.Parallel()
	s := wanted(3)
	s.Cluster.Spec.TLS.CASecret = "mine"
	s.Kube.Trust = &kube.Trust{GivenProblem: "secret shop/mine: certificate and key do not match"}
	judge(t, stub{}, s, nil, "secret shop/mine: certificate and key do not match")
	given := oldCA()
	s.Kube.Trust = &kube.Trust{Given: &given}
	if d := Decide(stub{}, s); decision(d) != "create-certificates" {
		t.Errorf("%+v", d)
	}
}

// TestRotationWaitsForQuorum: who has to restart is not known without a
// majority, and what follows must not begin before all have.
func TestRotationWaitsForQuorum(t *testing.T) {
	t.Parallel()
	lost := func(r v1alpha1.Rotation, change func(*State)) func() State {
		return func() State {
			s := rotating(t, r, 3, change)
			s.noQuorum()
			return s.doing(s.Operation, false)
		}
	}
	ask(t, stub{}, []question{
		{"before clients get theirs", lost(v1alpha1.RotateBegin, func(s *State) {
			next := newCA()
			s.Kube.Trust.Next = &next
			for i := range s.Kube.Leaves {
				s.Kube.Leaves[i].Trusts = s.Kube.Trust.Bundle()
			}
		}), "wait/quorum"},
		{"before the new authority takes over", lost(v1alpha1.RotateFinish, trusting), "wait/quorum"},
		{"before it is over", lost(v1alpha1.RotateFinish, func(s *State) {
			s.Kube.Trust = &kube.Trust{Current: oldCA()}
			s.Operation.Spec.Authority = "one before"
		}), "wait/quorum"},
	})
}

// TestRotationContinuesAnywhere: after each step of a rotation, a fresh look
// leads to the very rest of the plan.
func TestRotationContinuesAnywhere(t *testing.T) {
	t.Parallel()
	for _, r := range []v1alpha1.Rotation{v1alpha1.RotateLeaves, v1alpha1.RotateBegin, v1alpha1.RotateAtOnce} {
		s := rotating(t, r, 3, nil)
		want := ids(MakePlan(stub{}, s))
		for i := range want {
			got := ids(MakePlan(stub{}, s))
			if len(got) != len(want)-i {
				t.Fatalf("%s: after %d steps the rest is %v, of %v", r, i, got, want)
			}
			s = Predict(stub{}, s, *Decide(stub{}, s).Step)
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
				name := oldCA().Subject
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
		d := Decide(stub{}, s)
		if d.Step == nil {
			return
		}
		s = Predict(stub{}, s, *d.Step)
	}
	t.Error("no end")
}
