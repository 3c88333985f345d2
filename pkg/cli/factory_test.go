package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestNoKubeconfigIsSaid(t *testing.T) {
	for _, path := range []string{"/dev/null", "/nonexistent"} {
		t.Setenv("KUBECONFIG", path)
		var out, err bytes.Buffer
		c := Config{Program: "kubectl-dbop", Args: []string{"list"}, Getenv: func(string) string { return "" }, Streams: Streams{Out: &out, Err: &err}}
		if code := Run(t.Context(), c); code != ExitUnreachable || !strings.Contains(err.String(), "no kubeconfig") || !strings.Contains(err.String(), "\nhint: ") {
			t.Errorf("%s: exit %d\n%s", path, code, err.String())
		}
	}
}

func TestLocationOrder(t *testing.T) {
	b := newBench(t)
	f := b.factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)
	c := &v1alpha1.DatabaseCluster{}
	c.Spec.Backup.Repository = "pvc:of-cluster"
	for _, test := range []struct {
		name, flag, env, data string
		c                     *v1alpha1.DatabaseCluster
		want                  string
	}{
		{"flag", "pvc:of-flag", "pvc:of-env", "", c, "pvc:of-flag"},
		{"cluster", "", "pvc:of-env", "", c, "pvc:of-cluster"},
		{"environment", "", "pvc:of-env", "", nil, "pvc:of-env"},
		{"home", "", "", "", nil, "dir:" + filepath.Join(b.dir, ".local/share/kubectl-dbop/backups")},
		{"data home", "", "", "/data", nil, "dir:/data/kubectl-dbop/backups"},
	} {
		b.env[envRepository], b.env["XDG_DATA_HOME"] = test.env, test.data
		at, err := f.location(test.flag, test.c)
		if err != nil || at.String() != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, at, err, test.want)
		}
	}
}

func TestHelperImageOrder(t *testing.T) {
	b := newBench(t)
	f := b.factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)
	c := &v1alpha1.DatabaseCluster{}
	if got := f.helperImage("", c); got != helperRepository+":v1.2.3" {
		t.Error(got)
	}
	c.Spec.Registry = "mirror.local"
	if got := f.helperImage("", c); got != "mirror.local/dbop-dev/kubectl-dbop:v1.2.3" {
		t.Error(got)
	}
	b.env[envHelperImage] = "env/image"
	if got := f.helperImage("", c); got != "env/image" {
		t.Error(got)
	}
	c.Spec.HelperImage = "cluster/image"
	if got := f.helperImage("", c); got != "cluster/image" {
		t.Error(got)
	}
	if got := f.helperImage("flag/image", c); got != "flag/image" {
		t.Error(got)
	}
}
