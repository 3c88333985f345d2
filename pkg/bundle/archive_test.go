package bundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/bundle/bundletest"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	m := &Masker{}
	m.Learn(&corev1.Secret{Data: map[string][]byte{"p": []byte("very secret")}})
	a := New(m)
	a.Add("logs/db.log", "it said very secret things\n")
	a.Missing("nodes", errors.New("ada may not get nodes, nor know very secret"))
	path := filepath.Join(t.TempDir(), "b.tar.gz")
	// What a run that was killed left is in nobody's way.
	if err := os.WriteFile(path+partSuffix, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"logs/db.log": "it said <masked> things\n",
		"missing.txt": "nodes: ada may not get nodes, " +
			"nor know <masked>\n"}
	if diff := cmp.Diff(want, bundletest.Read(t, path)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := New(m).Write(path, time.Now()); !errors.Is(err, ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := New(m).Write(filepath.Join(filepath.Dir(path), "none", "b"), time.Now()); err == nil ||
		strings.Contains(err.Error(), "remove") {
		t.Errorf("into nowhere: %v", err)
	}
}
