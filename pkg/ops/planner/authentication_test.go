package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// asked is a healthy cluster of three under an operation, with authentication on or off.
func asked(verb v1alpha1.Verb, auth string, changes ...func(*ops.State)) ops.State {
	s := opstest.Well(3)
	s.Operation = opstest.Operation(verb)
	s.SetAuth(auth)
	for _, change := range changes {
		change(&s)
	}
	ApplyTo(s.Cluster, s.Operation)
	return s
}

func about(user string) func(*ops.State) {
	return func(s *ops.State) { s.Operation.Spec.User = &v1alpha1.DatabaseUser{Name: user} }
}

func listed(users ...string) func(*ops.State) {
	return func(s *ops.State) {
		for _, u := range users {
			s.Cluster.Spec.Auth.Users = append(s.Cluster.Spec.Auth.Users,
				v1alpha1.DatabaseUser{Name: u, Prefix: "/" + u + "/"})
		}
	}
}

func known(facts ...string) func(*ops.State) {
	return func(s *ops.State) {
		for _, f := range facts {
			s.SetFact(f)
		}
	}
}

func cancelled(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling }

func hadAuth(s *ops.State) { s.Operation.Spec.FromAuth = new(true) }

func dropsOld(s *ops.State) { s.Operation.Spec.DropOld = true }

func plainText(s *ops.State) { s.Cluster.Spec.TLS.Disabled = true }

func noQuorum(s *ops.State) { s.View.Quorum = false }

func TestAuthentication(t *testing.T) {
	t.Parallel()
	makesAll := []string{"create-credentials", "ensure-user/root", "ensure-user/client"}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"users first, enabled last, then proved": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOff), append(makesAll, "enable-auth", "prove-auth"), ""},
		"listed users too": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOff, listed("app")),
			append(makesAll, "ensure-user/app", "enable-auth", "prove-auth"), ""},
		"what is known is not done again": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOff, known(v1alpha1.FactCredentials, rules.FactUser("root"))),
			[]string{"ensure-user/client", "enable-auth", "prove-auth"}, ""},
		"on already: the passwords are made ours": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOn), append(makesAll, "prove-auth"), ""},
		"not every member demands it yet": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOn, opstest.OneDiffers), append(makesAll, "enable-auth", "prove-auth"),
			""},
		"stepped back before it was on": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOff, cancelled), nil, ""},
		"stepped back afterwards": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOn, cancelled), []string{"disable-auth"}, ""},
		"without quorum nobody can be made": {
			asked(v1alpha1.VerbEnableAuth, engine.AuthOff, noQuorum), nil,
			"no quorum: 3 of 3 members answer, and no majority agrees on a leader"},
		"off": {
			asked(v1alpha1.VerbDisableAuth, engine.AuthOn), []string{"disable-auth"}, ""},
		"off already": {
			asked(v1alpha1.VerbDisableAuth, engine.AuthOff), nil, ""},
		"off, stepped back": {
			asked(v1alpha1.VerbDisableAuth, engine.AuthOff, hadAuth, cancelled),
			append(makesAll, "enable-auth", "prove-auth"),
			""},
		"a restored cluster whose data demands it": {
			asked(v1alpha1.VerbRestore, engine.AuthOn, opstest.WantsAuth), append(makesAll, "prove-auth"), ""},
		"a restored cluster that had it before": {
			asked(v1alpha1.VerbRestore, engine.AuthOff, opstest.WantsAuth),
			append(makesAll, "enable-auth", "prove-auth"), ""},
		"a restored cluster that is proved": {
			asked(v1alpha1.VerbRestore, engine.AuthOn, opstest.WantsAuth, known(v1alpha1.FactProved)), nil, ""},
		"created, and created once more": {
			asked(v1alpha1.VerbCreate, engine.AuthOn, opstest.WantsAuth), nil, ""},
		"created once more, after somebody turned it off": {
			asked(v1alpha1.VerbCreate, engine.AuthOff, opstest.WantsAuth), append(makesAll, "enable-auth", "prove-auth"), ""},
		"no other verb enables it": {
			asked(v1alpha1.VerbRestart, engine.AuthOff, opstest.WantsAuth), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectPlan(t, c.state, c.want, c.block)
		})
	}
}

// TestCreateWithAuth: the passwords are written down before the first member
// starts, and the cluster counts as created once nobody gets in without a name.
func TestCreateWithAuth(t *testing.T) {
	t.Parallel()
	s := opstest.Wanted(3)
	s.Operation = opstest.Operation(v1alpha1.VerbCreate)
	opstest.WantsAuth(&s)
	expectPlan(t, s, []string{"create-certificates", "create-credentials", "create-services",
		"start-members/db-1,db-2,db-3", "wait/formed", "record-bootstrap",
		"disable-bootstrap", "ensure-user/root", "ensure-user/client", "enable-auth", "prove-auth", "set-budget"}, "")
	plainText(&s)
	s.SetFact(v1alpha1.FactCredentials)
	if d := Decide(opstest.Stub{}, s); decision(d) != "create-services" {
		t.Errorf("passwords are there already, and next is %s", decision(d))
	}
}

// expectPlan compares the steps of a plan, and what blocks it.
func expectPlan(t *testing.T, s ops.State, want []string, block string) {
	t.Helper()
	plan := MakePlan(opstest.Stub{}, s)
	var got []string
	for _, s := range plan.Steps {
		got = append(got, s.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if (plan.Blocked != nil) != (block != "") || (plan.Blocked != nil && plan.Blocked.Message != block) {
		t.Errorf("blocked %+v, want %q", plan.Blocked, block)
	}
}

// TestIncarnationKeepsOut: a restore in place lets nobody in without a password who was not before.
func TestIncarnationKeepsOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ had, brings, want bool }{{false, false, false}, {true, false, true},
		{false, true, true}} {
		s := opstest.Well(1)
		s.Cluster.Spec.Auth.Enabled = c.had
		op := opstest.Operation(v1alpha1.VerbRestore)
		op.Spec.Source = &v1alpha1.BackupSource{Repository: "dir:/b", Backup: "b1", Auth: c.brings, RootSecret: "old-root"}
		ops.BeginIncarnation(s.Cluster, op, "db-2", "")
		if got := s.Cluster.Spec.Auth.Enabled; got != c.want || s.Cluster.Spec.RestoreFrom.RootSecret != "old-root" {
			t.Errorf("%+v: %v, from %+v", c, got, s.Cluster.Spec.RestoreFrom)
		}
	}
}
