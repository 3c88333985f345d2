package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
)

func TestCompletion(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	b.AddPods("my-db", "my-db-1", "my-db-2")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"status", ""}, []string{"my-db"}},
		{[]string{"status", "my-db", ""}, nil},
		{[]string{"status", "x"}, nil},
		{[]string{"member", "remove", "my-db", ""}, []string{"my-db-1", "my-db-2"}},
		{[]string{"create", "x", "--engine", ""}, []string{"fakedb"}},
		{[]string{"upgrade", "my-db", "--version", "3.6"}, []string{"3.6.2"}},
		{[]string{"backup", "describe", ""}, []string{id}},
		{[]string{"restore", "copy", "--from", ""}, []string{id}},
		{[]string{"status", "--context", ""}, []string{"demo"}},
		{[]string{"status", "--namespace", "s"}, []string{"shop", "stage"}},
		{[]string{"connect", "my-db", "--member", ""}, []string{"my-db-1", "my-db-2"}},
		{[]string{"connect", "my-db", "--login", ""}, []string{"root", "client"}},
		{[]string{"scale", "--dry-run="}, []string{"none", "client", "server"}},
	} {
		r := b.Run(append([]string{"__complete"}, test.args...)...)
		lines := strings.Split(strings.TrimSpace(r.Out), "\n")
		got, directive := lines[:len(lines)-1], lines[len(lines)-1]
		if strings.Join(got, " ") != strings.Join(test.want, " ") || directive != ":4" {
			t.Errorf("%v: %q %s, want %q", test.args, got, directive, test.want)
		}
	}
}

func TestCompletionStaysSilentWithoutCluster(t *testing.T) {
	b := clitest.New(t)
	b.Connect = func() error { return errors.New("unreachable") }
	if r := b.Run("__complete", "status", ""); r.Out != ":4\n" {
		t.Errorf("%q", r.Out)
	}
}

func TestCompletionThroughKubectl(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Program = "/usr/local/bin/kubectl_complete-dbop"
	if r := b.Run("status", ""); r.Code != exit.Done || r.Out != "my-db\n:4\n" {
		t.Errorf("exit %d, %q, %s", r.Code, r.Out, r.Err)
	}
}

func TestCompletionScripts(t *testing.T) {
	b := clitest.New(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell", "kubectl"} {
		if r := b.Run("completion", shell); r.Code != exit.Done || r.Out == "" {
			t.Errorf("%s: exit %d", shell, r.Code)
		}
	}
	b.Golden("completion_kubectl", b.Run("completion", "kubectl"))
}

func TestWithoutKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent/config")
	for _, args := range [][]string{{"--help"}, {"create", "--help"}, {"help", "plan", "upgrade"},
		{"version", "--client"}, {"completion", "bash"}, {"engines"}} {
		c := command.Config{Program: "kubectl-dbop", Args: args, Getenv: func(string) string { return "" },
			Streams: progress.Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}
		if code := cli.Run(t.Context(), c); code != exit.Done {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
