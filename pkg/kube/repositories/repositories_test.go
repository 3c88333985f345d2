package repositories

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

func described(credentials string) bucket.Description {
	return bucket.Description{Name: "offsite", URL: "s3://backups/shop", Recipients: []string{"age1x"},
		Credentials: credentials, Identity: true}
}

func secrets() bucket.Secrets {
	return bucket.Secrets{bucket.FileSigningKey: []byte("sign"), bucket.FileIdentity: []byte("read"),
		"AWS_ACCESS_KEY_ID": []byte("me"), "AWS_SECRET_ACCESS_KEY": []byte("mine")}
}

func TestSaveAndGet(t *testing.T) {
	t.Parallel()
	person := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "mine"},
		Data: map[string][]byte{"AWS_ACCESS_KEY_ID": []byte("theirs"), "password": []byte("other")}}
	for name, row := range map[string]struct {
		credentials string
		identity    bool
		want        bucket.Secrets
	}{
		"own credentials, to write": {"offsite.dbop-repository", false,
			bucket.Secrets{bucket.FileSigningKey: []byte("sign"),
				"AWS_ACCESS_KEY_ID": []byte("me"), "AWS_SECRET_ACCESS_KEY": []byte("mine")}},
		"own credentials, to read": {"offsite.dbop-repository", true, secrets()},
		"those of a person": {"mine", true, bucket.Secrets{bucket.FileSigningKey: []byte("sign"),
			bucket.FileIdentity: []byte("read"), "AWS_ACCESS_KEY_ID": []byte("theirs")}},
		"the identity of the workload": {"", false, bucket.Secrets{bucket.FileSigningKey: []byte("sign")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := kubetest.New(t, interceptor.Funcs{}, person.DeepCopy())
			d := described(row.credentials)
			for range 2 {
				if err := Save(t.Context(), c, "shop", d, secrets()); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Get(t.Context(), c, "shop", "offsite")
			if err != nil {
				t.Fatal(err)
			}
			all, err := List(t.Context(), c, "shop")
			if diff := cmp.Diff([]bucket.Description{d, d}, append(all, got)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			have, err := GetSecrets(t.Context(), c, "shop", got, row.identity)
			if diff := cmp.Diff(map[string][]byte(row.want), map[string][]byte(have)); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if err := Delete(t.Context(), c, "shop", "offsite"); err != nil {
				t.Fatal(err)
			}
			if err := Delete(t.Context(), c, "shop", "offsite"); !errors.Is(err, kube.ErrNotFound) {
				t.Errorf("a second deletion: %v", err)
			}
			left := &corev1.SecretList{}
			if err := c.API.List(t.Context(), left, client.InNamespace("shop")); err != nil || len(left.Items) != 1 {
				t.Errorf("%d secrets are left, %v", len(left.Items), err)
			}
		})
	}
}

// TestObjectsOfOthers: what only has the name of ours is neither changed nor deleted nor believed.
func TestObjectsOfOthers(t *testing.T) {
	t.Parallel()
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "offsite.dbop-repository"},
		Data: map[string]string{bucket.FileDescription: `{"name":"other","url":"s3://b","plain":true}`}}
	c, _ := kubetest.New(t, interceptor.Funcs{}, other)
	if err := Save(t.Context(), c, "shop", described(""), secrets()); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("save: %v", err)
	}
	if err := Delete(t.Context(), c, "shop", "offsite"); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("delete: %v", err)
	}
	if _, err := Get(t.Context(), c, "shop", "offsite"); !errors.Is(err, bucket.ErrDescription) {
		t.Errorf("get: %v", err)
	}
	person := described("missing")
	if _, err := GetSecrets(t.Context(), c, "shop", person, false); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("a secret of a person that is missing: %v", err)
	}
}

func TestVolume(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		credentials string
		identity    bool
		want        []string
	}{
		{"offsite.dbop-repository", false, []string{"offsite.dbop-repository"}},
		{"mine", true, []string{"mine", "offsite.dbop-repository", "offsite.dbop-identity"}},
	} {
		v := Volume("repository", described(row.credentials), row.identity)
		var got []string
		for _, s := range v.Projected.Sources[1:] {
			got = append(got, s.Secret.Name)
		}
		if diff := cmp.Diff(row.want, got); diff != "" ||
			v.Projected.Sources[0].ConfigMap.Name != "offsite.dbop-repository" {
			t.Error(diff)
		}
	}
}
