package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
)

func TestNoKubeconfigIsSaid(t *testing.T) {
	for _, path := range []string{"/dev/null", "/nonexistent"} {
		t.Setenv("KUBECONFIG", path)
		var out, err bytes.Buffer
		c := command.Config{Program: "kubectl-dbop", Args: []string{"list"}, Getenv: func(string) string { return "" },
			Streams: progress.Streams{Out: &out, Err: &err}}
		if code := cli.Run(t.Context(), c); code != exit.Unreachable || !strings.Contains(err.String(), "no kubeconfig") ||
			!strings.Contains(err.String(), "\nhint: ") {
			t.Errorf("%s: exit %d\n%s", path, code, err.String())
		}
	}
}

func TestLocationOrder(t *testing.T) {
	b := clitest.New(t)
	f := b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)
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
		{"home", "", "", "", nil, "dir:" + filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups")},
		{"data home", "", "", "/data", nil, "dir:/data/kubectl-dbop/backups"},
	} {
		b.Env[command.EnvRepository], b.Env["XDG_DATA_HOME"] = test.env, test.data
		at, err := f.Location(test.flag, test.c)
		if err != nil || at.String() != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, at, err, test.want)
		}
	}
}

func TestHelperImageOrder(t *testing.T) {
	b := clitest.New(t)
	f := b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil)
	c := &v1alpha1.DatabaseCluster{}
	if got := f.HelperImage("", c); got != command.HelperRepository+":v1.2.3" {
		t.Error(got)
	}
	c.Spec.Registry = "mirror.local"
	if got := f.HelperImage("", c); got != "mirror.local/dbop-dev/kubectl-dbop:v1.2.3" {
		t.Error(got)
	}
	b.Env[command.EnvHelperImage] = "env/image"
	if got := f.HelperImage("", c); got != "env/image" {
		t.Error(got)
	}
	c.Spec.HelperImage = "cluster/image"
	if got := f.HelperImage("", c); got != "cluster/image" {
		t.Error(got)
	}
	if got := f.HelperImage("flag/image", c); got != "flag/image" {
		t.Error(got)
	}
}
