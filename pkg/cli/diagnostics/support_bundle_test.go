package diagnostics_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/bundle/bundletest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

func TestSupportBundle(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.AddPods("my-db", "my-db-1")
	b.LogTexts = map[string]string{"my-db-1-0": "a login with very secret\n"}
	for i := range b.Items {
		b.Items[i].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", RestartCount: 1}}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "my-db-root"},
		Data: map[string][]byte{"password": []byte("very secret")}}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e1"},
		Message: "it tried very secret and failed"}
	event.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	b.Everything = observe.Evidence{Objects: []client.Object{event, secret},
		Missing: []observe.Gap{{What: "node node-1", Err: errors.New("ada may not get nodes")}}}
	file := filepath.Join(b.Dir, "b.tar.gz")
	r := b.Run("support-bundle", "my-db", "--file", file)
	if r.Code != exit.Done || strings.TrimSpace(r.Out) != file {
		t.Fatalf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	files := bundletest.Read(t, file)
	for _, name := range []string{"version.yaml", "missing.txt", "shop/my-db/objects/secret-my-db-root.yaml",
		"shop/my-db/objects/event-e1.yaml", "shop/my-db/status.yaml",
		"shop/my-db/diagnosis.yaml", "shop/my-db/logs/my-db-1-0/db.log", "shop/my-db/logs/my-db-1-0/db.previous.log"} {
		if files[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
	}
	for name, text := range files {
		if strings.Contains(text, "very secret") {
			t.Errorf("%s holds a secret:\n%s", name, text)
		}
	}
	if again := b.Run("support-bundle", "my-db", "--file", file); again.Code != exit.Failed ||
		!strings.Contains(again.Err, "not overwritten") {
		t.Errorf("a second one: exit %d\n%s", again.Code, again.Err)
	}
	if all := b.Run("support-bundle", "-A", "--file", file+"2"); all.Code != exit.Done ||
		bundletest.Read(t, file+"2")["shop/my-db/status.yaml"] == "" {
		t.Errorf("all: exit %d\n%s", all.Code, all.Err)
	}
	if both := b.Run("support-bundle", "my-db", "-A"); both.Code != exit.Usage {
		t.Errorf("exit %d", both.Code)
	}
	if len(b.Writes) > 0 {
		t.Errorf("it wrote %v", b.Writes)
	}
}
