package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// alone runs a command line without a fake: what it meets is what the test put there.
func alone(t *testing.T, program string, args ...string) clitest.Result {
	t.Helper()
	var out, err bytes.Buffer
	code := cli.Run(t.Context(),
		command.Config{Program: program, Args: args, Build: command.Build{Version: "v1.2.3"}, Getenv: os.Getenv,
			Streams: progress.Streams{In: strings.NewReader(""), Out: &out, Err: &err}})
	return clitest.Result{Out: out.String(), Err: err.String(), Code: code}
}

// TestKubeconfigs: whatever is wrong with it, one line says what, another what to do, and nobody waits.
func TestKubeconfigs(t *testing.T) {
	const users, good = "users: [{name: u, user: {}}]\n",
		"apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
	for name, c := range map[string]struct {
		config string
		args   []string
		want   string
	}{
		"not YAML": {config: "{{{", want: "the kubeconfig can't be used"},
		"a context unknown": {config: good + users + "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]",
			args: []string{"--context", "nope"}, want: "the context is not in the kubeconfig"},
		"a cluster missing": {config: good + users, want: "the kubeconfig can't be used"},
		"a file missing": {config: good + users +
			"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1', certificate-authority: /nonexistent}}]",
			want: "/nonexistent"},
		"an address unheard": {config: good + users + "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]",
			want: "can't be reached"},
		"a proxy not there": {config: good + users +
			"clusters: [{name: c, cluster: {server: 'https://203.0.113.1', proxy-url: 'http://127.0.0.1:1'}}]",
			want: "proxyconnect"},
		"a proxy ill-written": {config: good + users +
			"clusters: [{name: c, cluster: {server: 'https://203.0.113.1', proxy-url: 'nonsense://x'}}]", want: "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := os.WriteFile(path, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("KUBECONFIG", path)
			r := alone(t, "kubectl-dbop", append([]string{"list", "--request-timeout", "5s"}, c.args...)...)
			if r.Code != exit.Unreachable || !strings.Contains(r.Err, c.want) || !strings.HasPrefix(r.Err, "error: ") ||
				!strings.Contains(r.Err, "\nhint: ") || strings.Count(r.Err, "\n") != 2 {
				t.Errorf("exit %d, %q, want %q", r.Code, r.Err, c.want)
			}
			if r := alone(t, "kubectl-dbop", "version", "--client"); r.Code != exit.Done || r.Err != "" {
				t.Errorf("version --client: exit %d, %s", r.Code, r.Err)
			}
		})
	}
}

// TestNoHome: a service account or a container may have none.
func TestNoHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("KUBECONFIG", "")
	for _, args := range [][]string{{"version", "--client"}, {"--help"}, {"completion", "bash"}, {"engines"}} {
		if r := alone(t, "kubectl-dbop", args...); r.Code != exit.Done || r.Err != "" {
			t.Errorf("%v: exit %d, %s", args, r.Code, r.Err)
		}
	}
}

// TestNowhereToWrite: on a read-only file system, or in a home that is none,
// only what has to write fails, and names the place.
func TestNowhereToWrite(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Env["HOME"] = "/proc/nowhere"
	if r := b.Run("status", "my-db"); r.Code == exit.Usage || strings.Contains(r.Err, "/proc/nowhere") {
		t.Errorf("an observation wants to write: exit %d, %s", r.Code, r.Err)
	}
	at, err := b.Factory(&bytes.Buffer{}, &bytes.Buffer{}, nil).Location("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := repository.NewDirectory(at.Path); err == nil {
		if err := d.Prepare(); err == nil || !strings.Contains(err.Error(), "/proc/nowhere/.local/share/kubectl-dbop") {
			t.Errorf("got %v", err)
		}
	}
}

// TestProgramNames: whatever the file is called, help says what a person types;
// only kubectl's name for the completer means something.
func TestProgramNames(t *testing.T) {
	t.Setenv("KUBECONFIG", "/dev/null")
	for _, program := range []string{"kubectl-dbop", "/opt/dbop", `kubectl-dbop.exe`, "oc-dbop", ""} {
		r := alone(t, program, "upgrade", "--help")
		if r.Code != exit.Done || !strings.Contains(r.Out, "\n  kubectl dbop upgrade ") {
			t.Errorf("%q: exit %d, %s", program, r.Code, r.Out)
		}
	}
	for _, program := range []string{"kubectl_complete-dbop", "/usr/local/bin/kubectl_complete-dbop",
		"kubectl_complete-dbop.exe"} {
		if r := alone(t, program, "upgr"); !strings.HasPrefix(r.Out, "upgrade\t") || !strings.Contains(r.Out, "\n:4\n") {
			t.Errorf("%q: %s", program, r.Out)
		}
	}
}

// TestPathsOfWindows: a drive letter is no scheme that anybody has to guess.
func TestPathsOfWindows(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	r := b.Run("backup", "my-db", "--repository", `C:\backups`)
	if r.Code != exit.Usage || !strings.Contains(r.Err, "dir:") {
		t.Errorf("exit %d, %s", r.Code, r.Err)
	}
}
