package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

func TestUserPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state ops.State
		want  []string
	}{
		"create": {asked(v1alpha1.VerbCreateUser, engine.AuthOn, about("app")),
			[]string{"create-credentials/app", "ensure-user/app"}},
		"create while nobody has to log in": {
			asked(v1alpha1.VerbCreateUser, engine.AuthOff, about("app")),
			[]string{"create-credentials/app", "ensure-user/app"}},
		"create again, and it is there": {asked(v1alpha1.VerbCreateUser, engine.AuthOn, listed("app"), about("app"),
			func(s *ops.State) { s.HasUser = true }), nil},
		"create again, and something is missing": {asked(v1alpha1.VerbCreateUser, engine.AuthOn, listed("app"), about("app")),
			[]string{"create-credentials/app", "ensure-user/app"}},
		"create, stepped back": {
			asked(v1alpha1.VerbCreateUser, engine.AuthOn, about("app"), known(v1alpha1.FactCredentials), cancelled),
			[]string{"delete-user/app"}},
		"create again, stepped back": {
			asked(v1alpha1.VerbCreateUser, engine.AuthOn, listed("app"), about("app"), known(v1alpha1.FactCredentials),
				func(s *ops.State) { Default(&s.Operation.Spec, s.Cluster) }, cancelled), nil},
		"create, stepped back from nothing": {asked(v1alpha1.VerbCreateUser, engine.AuthOn, about("app"), cancelled), nil},
		"delete": {asked(v1alpha1.VerbDeleteUser, engine.AuthOn, about("app"), listed("app")),
			[]string{"delete-user/app"}},
		"delete, done": {asked(v1alpha1.VerbDeleteUser, engine.AuthOn, about("app"),
			known(rules.FactDeleted("app"))), nil},
		"rotate one": {asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, listed("app", "bpp"),
			about("bpp")), []string{"rotate-credentials/bpp"}},
		"rotate all": {
			asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, listed("app")),
			[]string{"rotate-credentials/root", "rotate-credentials/client", "rotate-credentials/app"}},
		"rotate, half done": {asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, known(rules.FactRotated("root"))),
			[]string{"rotate-credentials/client"}},
		"rotate, stepped back": {asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, cancelled), nil},
		"drop": {asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, about("client"), dropsOld),
			[]string{"drop-credentials/client"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectPlan(t, c.state, c.want, "")
		})
	}
}

// passwords is an engine whose clients always log in by password.
type passwords struct{ opstest.Stub }

func (p passwords) Capabilities() engine.Capabilities {
	c := p.Stub.Capabilities()
	c.Login = true
	return c
}

// TestNamesThatStay: where certificates log the applications' user in, they bear its name, so it is not given a second
// one.
func TestNamesThatStay(t *testing.T) {
	t.Parallel()
	const own, second = " a new password", " a second name with a new password"
	for name, c := range map[string]struct {
		engine engine.Engine
		user   string
		how    []func(*ops.State)
		want   string
	}{
		"by certificate":              {opstest.Stub{}, "client", nil, own},
		"in plain text":               {opstest.Stub{}, "client", []func(*ops.State){plainText}, second},
		"by password, with TLS":       {passwords{}, "client", nil, second},
		"the administrator":           {opstest.Stub{}, "root", []func(*ops.State){plainText}, own},
		"the administrator, with TLS": {passwords{}, "root", nil, own},
		"another user":                {opstest.Stub{}, "app", []func(*ops.State){listed("app")}, second},
	} {
		s := asked(v1alpha1.VerbRotateCredentials, engine.AuthOn, append(c.how, about(c.user))...)
		if got := MakePlan(c.engine, s).Steps[0].Title; got != "Give "+c.user+c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWantUser(t *testing.T) {
	t.Parallel()
	s := asked(v1alpha1.VerbCreateUser, engine.AuthOn, listed("other"), about("app"))
	if ApplyTo(s.Cluster, s.Operation) || len(s.Cluster.Spec.Auth.Users) != 2 {
		t.Errorf("a repeat lists it again: %+v", s.Cluster.Spec.Auth.Users)
	}
	cancelled(&s)
	if !ApplyTo(s.Cluster, s.Operation) || len(s.Cluster.Spec.Auth.Users) != 1 ||
		s.Cluster.Spec.Auth.Users[0].Name != "other" {
		t.Errorf("stepped back, it stays: %+v", s.Cluster.Spec.Auth.Users)
	}
}

func TestCheckUser(t *testing.T) {
	t.Parallel()
	cluster := opstest.Well(1).Cluster
	cluster.Spec.Auth.Users = []v1alpha1.DatabaseUser{{Name: "app", Prefix: "/app/"}}
	for _, c := range []struct {
		verb   v1alpha1.Verb
		user   v1alpha1.DatabaseUser
		refuse string
	}{
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "new"}, ""},
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "app", Prefix: "/app/"}, ""},
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "app"}, "exists already, with other rights"},
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "root"}, "made by auth enable"},
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "app.2"}, "can't be the name"},
		{v1alpha1.VerbCreateUser, v1alpha1.DatabaseUser{Name: "A b"}, "can't be the name"},
		{v1alpha1.VerbDeleteUser, v1alpha1.DatabaseUser{Name: "app"}, ""},
		{v1alpha1.VerbDeleteUser, v1alpha1.DatabaseUser{Name: "client"}, "belongs to the cluster"},
		{v1alpha1.VerbDeleteUser, v1alpha1.DatabaseUser{Name: "theirs"}, "not made by this tool"},
		{v1alpha1.VerbRotateCredentials, v1alpha1.DatabaseUser{Name: "client"}, ""},
		{v1alpha1.VerbRotateCredentials, v1alpha1.DatabaseUser{Name: "theirs"}, "not made by this tool"},
	} {
		err := Check(opstest.Stub{}, Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: c.verb,
			UserParameters: v1alpha1.UserParameters{User: &c.user}}},
			cluster)
		var refusal *engine.Refusal
		switch {
		case c.refuse == "" && err != nil:
			t.Errorf("%s %+v: %v", c.verb, c.user, err)
		case c.refuse != "" && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), c.refuse) ||
			refusal.Hint == ""):
			t.Errorf("%s %+v: %v, want %q", c.verb, c.user, err, c.refuse)
		}
	}
	locked := cluster.DeepCopy()
	locked.Spec.Auth.Enabled = true
	for verb, c := range map[v1alpha1.Verb]*v1alpha1.DatabaseCluster{v1alpha1.VerbEnableAuth: cluster,
		v1alpha1.VerbCreate: locked} {
		err := Check(noUsers{}, Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: verb}}, c)
		if err == nil || !strings.Contains(err.Error(), "stub") {
			t.Errorf("%s of an engine without users: %v", verb, err)
		}
	}
}

// TestCreateNamesUsers: a manifest lists users before anything is there to refuse them.
func TestCreateNamesUsers(t *testing.T) {
	t.Parallel()
	for user, refused := range map[string]bool{"app": false, "root": true, "client": true, "App": true, "a.2": true} {
		s := opstest.Wanted(1)
		opstest.WantsAuth(&s)
		listed(user)(&s)
		if err := Check(opstest.Stub{}, Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate},
			Cluster: s.Cluster}, s.Cluster); (err != nil) != refused {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// noUsers is an engine whose clients never log in.
type noUsers struct{ opstest.Stub }

func (noUsers) Capabilities() engine.Capabilities { return engine.Capabilities{MaxMembers: 7} }

func TestCheckRootPassword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source  v1alpha1.BackupSource
		inPlace bool
		change  func(*ops.State)
		refused bool
	}{
		"no users in it":            {v1alpha1.BackupSource{}, false, plainText, false},
		"a certificate replaces it": {v1alpha1.BackupSource{Auth: true}, false, func(*ops.State) {}, false},
		"without TLS":               {v1alpha1.BackupSource{Auth: true}, false, plainText, true},
		"without TLS, the password is named": {v1alpha1.BackupSource{Auth: true, RootSecret: "db-root"}, false, plainText,
			false},
		"in place, the cluster has a password": {v1alpha1.BackupSource{Auth: true}, true,
			func(s *ops.State) { plainText(s); opstest.WantsAuth(s) }, false},
		"in place, the cluster never had users": {v1alpha1.BackupSource{Auth: true}, true, plainText, true},
	} {
		s := opstest.Well(1)
		c.change(&s)
		err := Check(opstest.Stub{}, Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestore,
			RestoreParameters: v1alpha1.RestoreParameters{InPlace: c.inPlace}, Source: &c.source}}, s.Cluster)
		if (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
