package password

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestEnsurePassword(t *testing.T) {
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	first, err := Ensure(t.Context(), c, cluster, "app", nil)
	if err != nil || first.Current.User != "app" || len(first.Current.Password) < 20 || len(first.Usable()) != 1 {
		t.Fatalf("%v of %d characters: %v", first, len(first.Current.Password), err)
	}
	again, err := Ensure(t.Context(), c, cluster, "app", nil)
	if err != nil || again.Current != first.Current {
		t.Errorf("a repeat changes the password: %v", err)
	}
	s := kubetest.Secret(t, api, "db-user-app")
	if s.Type != corev1.SecretTypeBasicAuth || len(s.OwnerReferences) != 0 ||
		s.Annotations[kube.AnnotationClusterID] != "c1" || s.Labels[v1alpha1.LabelCluster] != "db" {
		t.Errorf("secret %+v", s.ObjectMeta)
	}
	root, err := Ensure(t.Context(), c, cluster, "root", nil)
	if err != nil || root.Current.Password == first.Current.Password || kubetest.Secret(t, api, "db-root").Name == "" {
		t.Errorf("the administrator's: %v", err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if strings.Contains(fmt.Sprintf(format, first.Current), first.Current.Password) {
			t.Errorf("%s prints the password", format)
		}
	}
	has, err := Exists(t.Context(), c, cluster, "nobody")
	if has || err != nil {
		t.Errorf("nobody has a password: %v, %v", has, err)
	}
	for range 2 {
		if err := Delete(t.Context(), c, cluster, "app"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Get(t.Context(), c, "shop", "db-user-app"); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("after its deletion: %v", err)
	}
}

func TestForeignPasswordIsLeftAlone(t *testing.T) {
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db-user-app", Namespace: "shop"},
		Data: map[string][]byte{"username": []byte("app"), "password": []byte("theirs")}}
	c, _ := kubetest.New(t, interceptor.Funcs{}, theirs)
	next := func(string) string { return "app.2" }
	_, ensured := Ensure(t.Context(), c, kubetest.Cluster(), "app", nil)
	_, staged := Stage(t.Context(), c, kubetest.Cluster(), "app", "op", next)
	for what, err := range map[string]error{"ensure": ensured, "stage": staged, "delete": Delete(t.Context(), c,
		kubetest.Cluster(), "app")} {
		if !errors.Is(err, kube.ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "shop"},
		Data: map[string][]byte{"password": []byte("alone")}}
	c, _ = kubetest.New(t, interceptor.Funcs{}, broken)
	if _, err := Get(t.Context(), c, "shop", "old"); err == nil || strings.Contains(err.Error(), "alone") {
		t.Errorf("a secret without a name: %v", err)
	}
}

// TestRotatePassword makes every request twice, and sees at each point which
// passwords may let the user in.
func TestRotatePassword(t *testing.T) {
	c, _ := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	first, err := Ensure(t.Context(), c, cluster, "app", nil)
	if err != nil {
		t.Fatal(err)
	}
	var staged *Password
	for range 2 {
		again, err := Stage(t.Context(), c, cluster, "app", "op-1", func(present string) string { return present + ".2" })
		if err != nil || again == nil || again.User != "app.2" || (staged != nil && *again != *staged) {
			t.Fatalf("staged %v then %v: %v", staged, again, err)
		}
		staged = again
	}
	usable := func(want ...Password) {
		t.Helper()
		has, err := Get(t.Context(), c, "shop", "db-user-app")
		got := has.Usable()
		if err != nil || len(got) != len(want) {
			t.Fatalf("usable %v, want %v: %v", got, want, err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("usable %v, want %v", got, want)
			}
		}
	}
	usable(first.Current, *staged)
	for range 2 {
		if err := Promote(t.Context(), c, cluster, "app", "op-1", nil); err != nil {
			t.Fatal(err)
		}
	}
	usable(*staged, first.Current)
	// The same operation, continued after its end was not noted.
	if done, err := Stage(t.Context(), c, cluster, "app", "op-1", func(string) string { return "x" }); done != nil ||
		err != nil {
		t.Errorf("a complete rotation stages %v: %v", done, err)
	}
	usable(*staged, first.Current)
	for range 2 {
		if err := DropFormer(t.Context(), c, cluster, "app"); err != nil {
			t.Fatal(err)
		}
	}
	usable(*staged)
}

// TestEntries: what a secret holds beside the password follows it through a rotation, and a repeat writes it again.
func TestEntries(t *testing.T) {
	t.Parallel()
	c, api := kubetest.New(t, interceptor.Funcs{})
	cluster := kubetest.Cluster()
	more := func(p Password) map[string]string {
		return map[string]string{"uri": p.User + ":" + p.Password + "@host"}
	}
	holds := func(what string) {
		t.Helper()
		s := kubetest.Secret(t, api, "db-user-app")
		has, err := FromSecret(s)
		if err != nil || string(s.Data["uri"]) != more(has.Current)["uri"] {
			t.Errorf("%s: the uri is not that of the password: %v", what, err)
		}
	}
	ensure := func(more Entries) {
		t.Helper()
		if _, err := Ensure(t.Context(), c, cluster, "app", more); err != nil {
			t.Fatal(err)
		}
	}
	ensure(nil) // as an earlier version of this tool makes it
	ensure(more)
	holds("made")
	if _, err := Stage(t.Context(), c, cluster, "app", "op", func(string) string { return "app.2" }); err != nil {
		t.Fatal(err)
	}
	holds("staged")
	if err := Promote(t.Context(), c, cluster, "app", "op", more); err != nil {
		t.Fatal(err)
	}
	holds("rotated")
}
