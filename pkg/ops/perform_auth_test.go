package ops

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestAuthenticationIsPerformed does each step twice, as after a crash whose
// fact was not noted.
func TestAuthenticationIsPerformed(t *testing.T) {
	b := plain(t)
	b.op = operation(v1alpha1.VerbEnableAuth)
	var first []engine.Credentials
	for range 2 {
		for _, step := range []Step{{Action: ActionCredentials}, {Action: ActionEnsureUser, User: "root"}, {Action: ActionEnsureUser, User: "client"},
			{Action: ActionEnableAuth}, {Action: ActionProveAuth}} {
			r, err := b.perform(step)
			b.must(err)
			if (len(r.Facts) == 0) != (step.Action == ActionEnableAuth) {
				t.Errorf("%s leaves the facts %v", step.Action, r.Facts)
			}
			if strings.Contains(fmt.Sprint(b.database.last().calls), "@") {
				t.Error("calls hold passwords")
			}
		}
	}
	for _, s := range b.database.sessions {
		first = append(first, s.set...)
	}
	if len(first) != 4 || first[0] != first[2] || first[1] != first[3] || first[0].Password == first[1].Password {
		t.Errorf("users were given %v", first)
	}
}

// TestUsersOfOthersAreLeftAlone: somebody relies on their passwords.
func TestUsersOfOthersAreLeftAlone(t *testing.T) {
	b := plain(t)
	b.op = operation(v1alpha1.VerbCreateUser)
	_, err := b.perform(Step{Action: ActionCredentials, User: "theirs"})
	var typed *Error
	if !errors.As(err, &typed) || typed.Kind != Refused || typed.Hint == "" {
		t.Errorf("a user of somebody else: %v", err)
	}
	for range 2 {
		_, err = b.perform(Step{Action: ActionCredentials, User: "ours"})
		b.must(err)
	}
}

// TestRotation turns a user's name and password and back, each step twice.
func TestRotation(t *testing.T) {
	b := plain(t)
	for i, want := range []string{"app.2", "app"} {
		b.op = operation(v1alpha1.VerbRotateCredentials)
		b.op.Name = fmt.Sprintf("op-%d", i)
		for range 2 {
			_, err := b.perform(Step{Action: ActionRotate, User: "app"})
			b.must(err)
		}
		has, err := b.client().Passwords(t.Context(), "shop", "db-user-app")
		b.must(err)
		if has.Current.User != want || has.Former == nil || has.Former.User == want || has.Next != nil {
			t.Errorf("after rotation %d the secret holds %v", i, has)
		}
	}
	for range 2 {
		_, err := b.perform(Step{Action: ActionDropOld, User: "app"})
		b.must(err)
	}
	var calls []string
	for _, s := range b.database.sessions {
		calls = append(calls, s.calls...)
	}
	want := []string{`ensure app.2 as "app"`, `ensure app as "app"`, "delete user app.2"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
