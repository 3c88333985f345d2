package cli

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestListShowsTheOthersOfADamagedRecord lists in all namespaces where one record is no JSON.
func TestListShowsTheOthersOfADamagedRecord(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "bad.dbop",
		Labels: map[string]string{"dbop.dev/kind": "cluster", "dbop.dev/cluster": "bad"}}, Data: map[string]string{"cluster.json": "{"}}
	if err := b.api.Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	r := b.run("list", "-A")
	if r.code != ExitFailed || !strings.Contains(r.out, "my-db") || !strings.Contains(r.err, "bank/bad.dbop") || !strings.Contains(r.err, "kubectl dbop repair bad -n bank") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestOthersAreServedDespiteADamagedRecord: completion and commands for all
// clusters leave one damaged record out; they name it where they can.
func TestOthersAreServedDespiteADamagedRecord(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bad.dbop",
		Labels: map[string]string{"dbop.dev/kind": "cluster", "dbop.dev/cluster": "bad"}}, Data: map[string]string{"cluster.json": "{"}}
	if err := b.api.Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if r := b.run("__complete", "status", ""); !strings.Contains(r.out, "my-db") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if r := b.run("support-bundle", "-A", "--file", file); r.code != ExitDone || !strings.Contains(r.err, "shop/bad.dbop") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
