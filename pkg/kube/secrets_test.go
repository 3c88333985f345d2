package kube

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestPasswordDifferences: a password secret that is missing or holds none is
// told, and only where clients must log in.
func TestPasswordDifferences(t *testing.T) {
	t.Parallel()
	c := testCluster()
	c.Spec.TLS.Disabled, c.Spec.Auth.Enabled = true, true
	secret := func(user string, data map[string][]byte) corev1.Secret {
		s := secretMetadata(c, v1alpha1.PasswordSecret(c.Name, user), "")
		s.Data = data
		return *s
	}
	full := map[string][]byte{corev1.BasicAuthUsernameKey: []byte("x"), corev1.BasicAuthPasswordKey: []byte("y")}
	root, client := v1alpha1.PasswordSecret(c.Name, v1alpha1.AdminUser), v1alpha1.PasswordSecret(c.Name, v1alpha1.ApplicationUser)
	for name, row := range map[string]struct {
		items []corev1.Secret
		want  []string
	}{
		"both":        {items: []corev1.Secret{secret(v1alpha1.AdminUser, full), secret(v1alpha1.ApplicationUser, full)}},
		"one only":    {items: []corev1.Secret{secret(v1alpha1.AdminUser, full)}, want: []string{"secret/" + client + " Missing"}},
		"one is void": {items: []corev1.Secret{secret(v1alpha1.AdminUser, nil), secret(v1alpha1.ApplicationUser, full)}, want: []string{"secret/" + root + " Unusable"}},
	} {
		var got []string
		for _, d := range (&Secrets{cluster: c, items: row.items}).Differences(nil, time.Now()) {
			got = append(got, d.Object+" "+string(d.Kind))
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	c.Spec.Auth.Enabled = false
	if got := (&Secrets{cluster: c}).Differences(nil, time.Now()); len(got) > 0 {
		t.Errorf("nobody logs in: %+v", got)
	}
}

// TestSecretsThatLostTheirLabels: who removes labels takes neither the
// authority nor a certificate away.
func TestSecretsThatLostTheirLabels(t *testing.T) {
	t.Parallel()
	cluster := testCluster()
	cluster.Status.ID = "this"
	c, api := newFake(t, interceptor.Funcs{})
	if err := c.EnsureCertificates(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	all := &corev1.SecretList{}
	if err := api.List(t.Context(), all); err != nil || len(all.Items) == 0 {
		t.Fatal(err)
	}
	for _, s := range all.Items {
		s.Labels = nil
		if err := api.Update(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
	}
	secrets, err := c.Secrets(t.Context(), cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	trust, leaves, err := c.CertificateFacts(t.Context(), cluster, secrets)
	if err != nil || trust.Problem != "" || len(leaves) != len(all.Items)-1 {
		t.Errorf("%d of %d certificates are left, the authority: %q, %v", len(leaves), len(all.Items)-1, trust.Problem, err)
	}
}
