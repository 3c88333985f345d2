package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	id := b.backup("my-db")
	b.addPods("my-db", "my-db-1", "my-db-2")
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"status", ""}, []string{"my-db"}},
		{[]string{"status", "my-db", ""}, nil},
		{[]string{"status", "x"}, nil},
		{[]string{"remove-member", "my-db", ""}, []string{"my-db-1", "my-db-2"}},
		{[]string{"create", "x", "--engine", ""}, []string{"fakedb"}},
		{[]string{"upgrade", "my-db", "--version", "3.6"}, []string{"3.6.2"}},
		{[]string{"backup", "describe", ""}, []string{id}},
		{[]string{"restore", "copy", "--from", ""}, []string{id}},
		{[]string{"status", "--context", ""}, []string{"demo"}},
		{[]string{"status", "--namespace", "s"}, []string{"shop", "stage"}},
		{[]string{"connect", "my-db", "--member", ""}, []string{"my-db-1", "my-db-2"}},
		{[]string{"scale", "--dry-run="}, []string{"none", "client", "server"}},
	} {
		r := b.run(append([]string{"__complete"}, test.args...)...)
		lines := strings.Split(strings.TrimSpace(r.out), "\n")
		got, directive := lines[:len(lines)-1], lines[len(lines)-1]
		if strings.Join(got, " ") != strings.Join(test.want, " ") || directive != ":4" {
			t.Errorf("%v: %q %s, want %q", test.args, got, directive, test.want)
		}
	}
}

func TestCompletionStaysSilentWithoutCluster(t *testing.T) {
	b := newBench(t)
	b.connect = func() error { return errors.New("unreachable") }
	if r := b.run("__complete", "status", ""); r.out != ":4\n" {
		t.Errorf("%q", r.out)
	}
}

func TestCompletionThroughKubectl(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.program = "/usr/local/bin/kubectl_complete-dbop"
	if r := b.run("status", ""); r.code != ExitDone || r.out != "my-db\n:4\n" {
		t.Errorf("exit %d, %q, %s", r.code, r.out, r.err)
	}
}

func TestCompletionScripts(t *testing.T) {
	b := newBench(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell", "kubectl"} {
		if r := b.run("completion", shell); r.code != ExitDone || r.out == "" {
			t.Errorf("%s: exit %d", shell, r.code)
		}
	}
	b.golden("completion_kubectl", b.run("completion", "kubectl"))
}

func TestWithoutKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent/config")
	for _, args := range [][]string{{"--help"}, {"create", "--help"}, {"help", "plan", "upgrade"}, {"version", "--client"}, {"completion", "bash"}, {"engines"}} {
		c := Config{Program: "kubectl-dbop", Args: args, Getenv: func(string) string { return "" }, Streams: Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}
		if code := Run(t.Context(), c); code != ExitDone {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
