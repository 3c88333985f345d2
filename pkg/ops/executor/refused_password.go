package executor

import (
	"context"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// TryPasswords has a world log in with the passwords that secrets hold,
// whenever it observes. Each login costs the database a slow hash: it is for a
// person who asks what is wrong, not for a loop.
func TryPasswords(w ops.Cluster) {
	if l, ok := w.(*Executor); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.logins = true
	}
}

// refusedPasswords adds the secrets whose password the database does not
// accept. What can't be read or asked is told by others.
func (l *Executor) refusedPasswords(ctx context.Context, s *ops.State) {
	l.mu.Lock()
	wanted, session := l.logins, l.session
	l.mu.Unlock()
	tester, ok := session.(engine.LoginTester)
	serves := slices.ContainsFunc(s.View.Members, func(m engine.Member) bool { return m.Serving })
	if !wanted || !ok || !serves || s.Cluster == nil || !s.Cluster.Spec.Auth.Enabled {
		return
	}
	for _, user := range s.Cluster.PasswordUsers() {
		name := v1alpha1.PasswordSecret(s.Cluster.Name, user)
		has, err := password.Get(ctx, l.Client, l.Namespace, name)
		if err != nil || has.Next != nil { // a rotation is under way
			continue
		}
		accepted, err := tester.TestLogin(ctx, engine.Credentials{User: has.Current.User, Password: has.Current.Password})
		if err == nil && !accepted {
			s.Kube.Differences = append(s.Kube.Differences, drift.Difference{Object: health.KindSecret + "/" + name,
				Kind: drift.Unusable, Field: "data", Have: "the database refuses the password that it holds"})
		}
	}
}
