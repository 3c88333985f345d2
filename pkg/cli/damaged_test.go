package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestListShowsTheOthersOfADamagedRecord lists in all namespaces where one record is no JSON.
func TestListShowsTheOthersOfADamagedRecord(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "bad.dbop",
		Labels: map[string]string{"dbop.dev/kind": "cluster", "dbop.dev/cluster": "bad"}},
		Data: map[string]string{"cluster.json": "{"}}
	if err := b.API.Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	r := b.Run("list", "-A")
	if r.Code != exit.Failed || !strings.Contains(r.Out, "my-db") || !strings.Contains(r.Err, "bank/bad.dbop") ||
		!strings.Contains(r.Err, "kubectl dbop repair bad -n bank") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// TestOthersAreServedDespiteADamagedRecord: completion and commands for all
// clusters leave one damaged record out; they name it where they can.
func TestOthersAreServedDespiteADamagedRecord(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	bad := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bad.dbop",
		Labels: map[string]string{"dbop.dev/kind": "cluster", "dbop.dev/cluster": "bad"}},
		Data: map[string]string{"cluster.json": "{"}}
	if err := b.API.Create(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if r := b.Run("__complete", "status", ""); !strings.Contains(r.Out, "my-db") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	if r := b.Run("support-bundle", "-A", "--file", file); r.Code != exit.Done ||
		!strings.Contains(r.Err, "shop/bad.dbop") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
