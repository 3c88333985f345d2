package executor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestAuthenticationIsPerformed does each step twice, as after a crash whose
// fact was not noted.
func TestAuthenticationIsPerformed(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbEnableAuth)
	var first []engine.Credentials
	for range 2 {
		for _, step := range []ops.Step{{Action: ops.ActionCredentials}, {Action: ops.ActionEnsureUser, User: "root"},
			{Action: ops.ActionEnsureUser, User: "client"},
			{Action: ops.ActionEnableAuth}, {Action: ops.ActionProveAuth}} {
			r, err := perform(b, step)
			b.Must(err)
			if (len(r.Facts) == 0) != (step.Action == ops.ActionEnableAuth) {
				t.Errorf("%s leaves the facts %v", step.Action, r.Facts)
			}
			if strings.Contains(fmt.Sprint(b.Database.Last().Calls), "@") {
				t.Error("calls hold passwords")
			}
		}
	}
	for _, s := range b.Database.Sessions {
		first = append(first, s.Set...)
	}
	if len(first) != 4 || first[0] != first[2] || first[1] != first[3] || first[0].Password == first[1].Password {
		t.Errorf("users were given %v", first)
	}
}

// TestUsersOfOthersAreLeftAlone: somebody relies on their passwords.
func TestUsersOfOthersAreLeftAlone(t *testing.T) {
	b := plain(t)
	b.Op = opstest.Operation(v1alpha1.VerbCreateUser)
	_, err := perform(b, ops.Step{Action: ops.ActionCredentials, User: "theirs"})
	var typed *ops.Error
	if !errors.As(err, &typed) || typed.Kind != ops.Refused || typed.Hint == "" {
		t.Errorf("a user of somebody else: %v", err)
	}
	for range 2 {
		_, err = perform(b, ops.Step{Action: ops.ActionCredentials, User: "ours"})
		b.Must(err)
	}
}

// TestHasUser: a user is there if the database says so, and its secret holds a password; nobody is asked about one that
// the cluster does not have.
func TestHasUser(t *testing.T) {
	for name, c := range map[string]struct {
		whole          string
		secret, listed bool
		want           bool
	}{
		"all of it":    {"app", true, true, true},
		"no secret":    {"app", false, true, false},
		"rights lack":  {"", true, true, false},
		"not made yet": {"app", true, false, false},
	} {
		b := plain(t)
		b.Database.Model.Whole = c.whole
		b.Op = opstest.Operation(v1alpha1.VerbCreateUser)
		b.Op.Spec.User, b.Op.Spec.FromUser = &v1alpha1.DatabaseUser{Name: "app"}, c.listed
		if c.secret {
			_, err := perform(b, ops.Step{Action: ops.ActionCredentials, User: "app"})
			b.Must(err)
		}
		l := liveOf(b)
		if got := l.HasUser(t.Context(), observation(b, l)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if asked := strings.Contains(fmt.Sprint(b.Database.Last().Calls), "judge"); asked != (c.secret && c.listed) {
			t.Errorf("%s: the database was asked: %t", name, asked)
		}
	}
}

// TestRotation changes a user's name and password and back, each step twice.
func TestRotation(t *testing.T) {
	b := plain(t)
	for i, want := range []string{"app.2", "app"} {
		b.Op = opstest.Operation(v1alpha1.VerbRotateCredentials)
		b.Op.Name = fmt.Sprintf("op-%d", i)
		for range 2 {
			_, err := perform(b, ops.Step{Action: ops.ActionRotate, User: "app"})
			b.Must(err)
		}
		has, err := password.Get(t.Context(), b.Client(), "shop", "db-user-app")
		b.Must(err)
		if has.Current.User != want || has.Former == nil || has.Former.User == want || has.Next != nil {
			t.Errorf("after rotation %d the secret holds %v", i, has)
		}
	}
	for range 2 {
		_, err := perform(b, ops.Step{Action: ops.ActionDropOld, User: "app"})
		b.Must(err)
	}
	var calls []string
	for _, s := range b.Database.Sessions {
		calls = append(calls, s.Calls...)
	}
	want := []string{`ensure app.2 as "app"`, `ensure app as "app"`, "delete user app.2"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
