package kube

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestEnsurePassword(t *testing.T) {
	c, api := newFake(t, interceptor.Funcs{})
	cluster := testCluster()
	first, err := c.EnsurePassword(t.Context(), cluster, "app")
	if err != nil || first.Current.User != "app" || len(first.Current.Password) < 20 || len(first.Usable()) != 1 {
		t.Fatalf("%v of %d characters: %v", first, len(first.Current.Password), err)
	}
	again, err := c.EnsurePassword(t.Context(), cluster, "app")
	if err != nil || again.Current != first.Current {
		t.Errorf("a repeat changes the password: %v", err)
	}
	s := secret(t, api, "db-user-app")
	if s.Type != corev1.SecretTypeBasicAuth || len(s.OwnerReferences) != 0 || s.Annotations[AnnotationClusterID] != "c1" || s.Labels[v1alpha1.LabelCluster] != "db" {
		t.Errorf("secret %+v", s.ObjectMeta)
	}
	root, err := c.EnsurePassword(t.Context(), cluster, "root")
	if err != nil || root.Current.Password == first.Current.Password || secret(t, api, "db-root").Name == "" {
		t.Errorf("the administrator's: %v", err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if strings.Contains(fmt.Sprintf(format, first.Current), first.Current.Password) {
			t.Errorf("%s prints the password", format)
		}
	}
	has, err := c.HasPassword(t.Context(), cluster, "nobody")
	if has || err != nil {
		t.Errorf("nobody has a password: %v, %v", has, err)
	}
	for range 2 {
		if err := c.DeletePassword(t.Context(), cluster, "app"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Passwords(t.Context(), "shop", "db-user-app"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after its deletion: %v", err)
	}
}

func TestForeignPasswordIsLeftAlone(t *testing.T) {
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db-user-app", Namespace: "shop"},
		Data: map[string][]byte{"username": []byte("app"), "password": []byte("theirs")}}
	c, _ := newFake(t, interceptor.Funcs{}, theirs)
	next := func(string) string { return "app.2" }
	_, ensured := c.EnsurePassword(t.Context(), testCluster(), "app")
	_, staged := c.StagePassword(t.Context(), testCluster(), "app", "op", next)
	for what, err := range map[string]error{"ensure": ensured, "stage": staged, "delete": c.DeletePassword(t.Context(), testCluster(), "app")} {
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", what, err)
		}
	}
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "old", Namespace: "shop"}, Data: map[string][]byte{"password": []byte("alone")}}
	c, _ = newFake(t, interceptor.Funcs{}, broken)
	if _, err := c.Passwords(t.Context(), "shop", "old"); err == nil || strings.Contains(err.Error(), "alone") {
		t.Errorf("a secret without a name: %v", err)
	}
}

// TestRotatePassword makes every request twice, and sees at each point which
// passwords may let the user in.
func TestRotatePassword(t *testing.T) {
	c, _ := newFake(t, interceptor.Funcs{})
	cluster := testCluster()
	first, err := c.EnsurePassword(t.Context(), cluster, "app")
	if err != nil {
		t.Fatal(err)
	}
	var staged *Password
	for range 2 {
		again, err := c.StagePassword(t.Context(), cluster, "app", "op-1", func(present string) string { return present + ".2" })
		if err != nil || again == nil || again.User != "app.2" || (staged != nil && *again != *staged) {
			t.Fatalf("staged %v then %v: %v", staged, again, err)
		}
		staged = again
	}
	usable := func(want ...Password) {
		t.Helper()
		has, err := c.Passwords(t.Context(), "shop", "db-user-app")
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
		if err := c.TurnPassword(t.Context(), cluster, "app", "op-1"); err != nil {
			t.Fatal(err)
		}
	}
	usable(*staged, first.Current)
	// The same operation, continued after its end was not noted.
	if done, err := c.StagePassword(t.Context(), cluster, "app", "op-1", func(string) string { return "x" }); done != nil || err != nil {
		t.Errorf("a complete rotation stages %v: %v", done, err)
	}
	usable(*staged, first.Current)
	for range 2 {
		if err := c.DropFormerPassword(t.Context(), cluster, "app"); err != nil {
			t.Fatal(err)
		}
	}
	usable(*staged)
}
