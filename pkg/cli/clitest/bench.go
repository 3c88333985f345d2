package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/golden"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Noon is when all tests happen.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Bench is a command line over a store in a fake API server and a database
// that does what plans predict.
type Bench struct {
	*Fake

	T *testing.T
	// Cluster is that of my-db.
	Cluster *world
	Signals chan os.Signal
	Env     map[string]string
	In      io.Reader
	Tty     bool
	Dir     string
	Program string
	Now     time.Time
	Engines []engine.Engine
}

// New is a bench over an empty namespace shop.
func New(t *testing.T) *Bench {
	t.Helper()
	dir := t.TempDir()
	site := preflight.Report{Namespace: preflight.Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"},
		Classes: preflight.Classes{Names: []string{"fast"}, Default: "fast", Expandable: true}}
	clients := &Fake{Site: site, ExternalCluster: &FakeExternal{}, Objects: map[string]*unstructured.Unstructured{},
		worlds: map[string]*world{},
		Server: &version.Info{Major: "1", Minor: "33", GitVersion: "v1.33.1"}}
	b := &Bench{Fake: clients, T: t, Dir: dir, In: strings.NewReader(""), Signals: make(chan os.Signal, 2),
		Program: "kubectl-dbop", Now: Noon, Engines: []engine.Engine{opstest.Engine{}}}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: demo\ncontexts:\n- name: demo\n  context: {cluster: c, " +
		"user: u, namespace: shop}\n" +
		"clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers:\n- name: u\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	b.Env = map[string]string{"HOME": dir}
	b.API = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), b.recording())
	b.Cluster = b.At("my-db")
	return b
}

// recording notes every write that reaches the API server.
func (b *Bench) recording() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			b.wrote("create " + o.GetName())
			o.SetCreationTimestamp(metav1.NewTime(Noon.Add(-3 * time.Hour)))
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if asked := (&client.UpdateOptions{}).ApplyOptions(opts); len(asked.DryRun) == 0 {
				b.wrote("update " + o.GetName())
			}
			return c.Update(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			b.wrote("delete " + o.GetName())
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			b.wrote("patch " + o.GetName())
			return c.Patch(ctx, o, p, opts...)
		},
	}
}

// Result is what one command line came to.
type Result struct {
	Out, Err string
	Code     int
}

func (b *Bench) config(stdout, stderr io.Writer, args []string) command.Config {
	return command.Config{
		Program: b.Program, Args: args, Build: command.Build{Version: "v1.2.3", Commit: "abc", Date: "today"},
		Engines: b.Engines, Signals: b.Signals, Clients: b.Fake, Random: zeros{},
		Getenv: func(k string) string { return b.Env[k] }, Now: func() time.Time { return b.Now },
		Streams: progress.Streams{In: b.In, Out: stdout, Err: stderr, InTTY: b.Tty,
			Size: func() (int, int) { return 80, 24 }},
	}
}

func (b *Bench) Factory(stdout, stderr io.Writer, args []string) *command.Factory {
	return command.NewFactory(b.config(stdout, stderr, args))
}

func (b *Bench) Run(args ...string) Result {
	b.T.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Run(b.T.Context(), b.config(&stdout, &stderr, args))
	return Result{Out: stdout.String(), Err: stderr.String(), Code: code}
}

// Must runs a command that prepares a test.
func (b *Bench) Must(args ...string) {
	b.T.Helper()
	if r := b.Run(args...); r.Code != exit.Done {
		b.T.Fatalf("%v: exit %d\n%s%s", args, r.Code, r.Out, r.Err)
	}
	b.Writes = nil
}

// CreateCluster makes a formed cluster of three.
func (b *Bench) CreateCluster(name string) {
	b.T.Helper()
	b.Must("create", name, "--engine", "fakedb", "--version", "3.5", "--progress", "none")
}

// Backup puts one backup into the default repository and returns its identifier.
func (b *Bench) Backup(cluster string) string {
	b.T.Helper()
	id := cluster + "-20261120T120000Z-0a1b"
	d, err := repository.NewDirectory(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups"))
	if err != nil {
		b.T.Fatal(err)
	}
	if err := d.Prepare(); err != nil {
		b.T.Fatal(err)
	}
	w, err := d.Writer(b.T.Context(), id, "op")
	if err != nil {
		b.T.Fatal(err)
	}
	if _, err := w.Write([]byte("some data")); err != nil {
		b.T.Fatal(err)
	}
	_, err = w.Commit(b.T.Context(),
		repository.Manifest{Format: 1, ID: id, Engine: "fakedb", Cluster: cluster, Namespace: "shop", Version: "3.5.9",
			ClusterID: "c1", Member: cluster + "-2", Operation: "op", Tool: "v1.2.3", StartedAt: Noon.Add(-24 * time.Hour),
			FinishedAt: Noon.Add(-24*time.Hour + 2*time.Second)},
		func(string) (engine.SnapshotFacts, error) {
			return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Proof: "7 keys",
				Readings: []engine.Reading{{Name: "revision", Value: "42"}, {Name: "keys", Value: "7"}}}, Schema: "3.5",
				Members: []string{"a", "b", "c"}}, nil
		})
	if err != nil {
		b.T.Fatal(err)
	}
	return id
}

// Golden compares with testdata/NAME.txt, or writes it with -update.
func (b *Bench) Golden(name string, r Result) {
	b.T.Helper()
	text := "--- exit code\n" + printer.Itoa(int64(r.Code)) + "\n--- stdout\n" + r.Out + "--- stderr\n" + r.Err
	text = strings.ReplaceAll(text, b.Dir, "$HOME")
	golden.Compare(b.T, name, text)
}
