package pki

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// TestPasswordDifferences: a password secret that is missing or holds none is
// told, and only where clients must log in.
func TestPasswordDifferences(t *testing.T) {
	t.Parallel()
	c := kubetest.Cluster()
	c.Spec.TLS.Disabled, c.Spec.Auth.Enabled = true, true
	secret := func(user string, data map[string][]byte) corev1.Secret {
		s := secretMetadata(c, v1alpha1.PasswordSecret(c.Name, user), "")
		s.Data = data
		return *s
	}
	full := map[string][]byte{corev1.BasicAuthUsernameKey: []byte("x"), corev1.BasicAuthPasswordKey: []byte("y")}
	root, client := v1alpha1.PasswordSecret(c.Name, v1alpha1.AdminUser), v1alpha1.PasswordSecret(c.Name,
		v1alpha1.ApplicationUser)
	for name, row := range map[string]struct {
		items []corev1.Secret
		want  []string
	}{
		"both": {items: []corev1.Secret{secret(v1alpha1.AdminUser, full), secret(v1alpha1.ApplicationUser, full)}},
		"one only": {items: []corev1.Secret{secret(v1alpha1.AdminUser, full)},
			want: []string{"secret/" + client + " Missing"}},
		"one is void": {items: []corev1.Secret{secret(v1alpha1.AdminUser, nil), secret(v1alpha1.ApplicationUser, full)},
			want: []string{"secret/" + root + " Unusable"}},
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

// TestSecretsThatLostTheirLabels: removing the labels takes neither the
// authority nor a certificate away.
func TestSecretsThatLostTheirLabels(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Cluster()
	cluster.Status.ID = "this"
	c, api := kubetest.New(t, interceptor.Funcs{})
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
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
	secrets, err := ReadSecrets(t.Context(), c, cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	trust, leaves, err := CertificateFacts(t.Context(), c, cluster, secrets)
	if err != nil || trust.Problem != "" || len(leaves) != len(all.Items)-1 {
		t.Errorf("%d of %d certificates are left, the authority: %q, %v", len(leaves), len(all.Items)-1, trust.Problem, err)
	}
}

// TestSecretDifferences: present, readable, signed by the authority, valid.
func TestSecretDifferences(t *testing.T) {
	for name, row := range map[string]struct {
		change func(map[string][]byte)
		secret string
		gone   bool
		after  time.Duration
		want   []string
	}{
		"nothing":             {},
		"the authority":       {secret: "db-ca", gone: true, want: []string{"secret/db-ca Missing "}},
		"a member's":          {secret: "db-1-tls", gone: true, want: []string{"secret/db-1-tls Missing "}},
		"the administrator's": {secret: "db-admin-tls", gone: true, want: []string{"secret/db-admin-tls Missing "}},
		"a key of another one": {secret: "db-1-tls", change: func(d map[string][]byte) { d["tls.key"] = []byte("x") },
			want: []string{"secret/db-1-tls Unusable certificate and key do not match"}},
		"no certificate": {secret: "db-client-tls", change: func(d map[string][]byte) { delete(d, "tls.crt") },
			want: []string{"secret/db-client-tls Unusable it holds no certificate"}},
		"no authority": {secret: "db-ca", change: func(d map[string][]byte) { delete(d, "tls.key") },
			want: []string{"secret/db-ca Unusable the authority can't sign: certificate or key is not PEM"}},
		"of another authority": {secret: "db-client-tls", change: func(d map[string][]byte) {
			other, err := NewAuthority("other", kubetest.Noon())
			if err != nil {
				panic(err)
			}
			a, err := NewSigner(other)
			if err != nil {
				panic(err)
			}
			p, err := a.IssueClient("client", time.Now())
			if err != nil {
				panic(err)
			}
			maps.Copy(d, map[string][]byte{"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": other.Certificate})
		}, want: []string{"secret/db-client-tls Unusable its certificate is signed by another authority than db-ca"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, api, cluster := issued(t)
			if row.secret != "" {
				s := &corev1.Secret{}
				s.Namespace, s.Name = "shop", row.secret
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
					t.Fatal(err)
				}
				if row.gone {
					if err := api.Delete(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				} else {
					row.change(s.Data)
					if err := api.Update(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
			}
			secrets, err := ReadSecrets(t.Context(), c, cluster, []string{"db-1"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range secrets.Differences([]string{"db-1"}, time.Now().Add(row.after)) {
				got = append(got, fmt.Sprintf("%s %s %s", d.Object, d.Kind, d.Have))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
