package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestRefusedPassword: a password that somebody edited in its secret is found
// by logging in with it, where that is asked for.
func TestRefusedPassword(t *testing.T) {
	b := plain(t)
	c, err := b.Store().GetCluster(t.Context(), "shop", "db")
	b.Must(err)
	c.Spec.Auth.Enabled = true
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	for _, user := range c.PasswordUsers() {
		_, err := password.Ensure(t.Context(), b.Client(), c, user, nil)
		b.Must(err)
	}
	secret := &corev1.Secret{}
	name := v1alpha1.PasswordSecret("db", v1alpha1.AdminUser)
	b.Must(b.Client().API.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, secret))
	secret.Data[corev1.BasicAuthPasswordKey] = []byte(opstest.RefusedPassword)
	b.Must(b.Client().API.Update(t.Context(), secret))

	for _, asked := range []bool{false, true} {
		l := liveOf(b)
		if asked {
			TryPasswords(l)
		}
		var found []string
		for _, d := range observation(b, l).Kube.Differences {
			if d.Have == "the database refuses the password that it holds" {
				found = append(found, d.Object)
			}
		}
		var want []string
		if asked {
			want = []string{"secret/" + name}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("asked %t: %s", asked, diff)
		}
	}
}
