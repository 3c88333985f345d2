package cli

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when all tests happen.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is a command line over a store in a fake API server and a database
// that does what plans predict.
type bench struct {
	*fakeClients

	t *testing.T
	// world is that of my-db.
	world   *world
	signals chan os.Signal
	env     map[string]string
	in      io.Reader
	tty     bool
	dir     string
	program string
	now     time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	site := kube.Preflight{Namespace: kube.Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"},
		Classes: kube.Classes{Names: []string{"fast"}, Default: "fast", Expandable: true}}
	clients := &fakeClients{site: site, outsider: &stranger{}, objects: map[string]*unstructured.Unstructured{}, worlds: map[string]*world{},
		server: &version.Info{Major: "1", Minor: "33", GitVersion: "v1.33.1"}}
	b := &bench{fakeClients: clients, t: t, dir: dir, in: strings.NewReader(""), signals: make(chan os.Signal, 2), program: "kubectl-dbop", now: noon}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: demo\ncontexts:\n- name: demo\n  context: {cluster: c, user: u, namespace: shop}\n" +
		"clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers:\n- name: u\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	b.env = map[string]string{"HOME": dir}
	b.api = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), b.recording())
	b.world = b.at("my-db")
	return b
}

// recording notes every write that reaches the API server.
func (b *bench) recording() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			b.wrote("create " + o.GetName())
			o.SetCreationTimestamp(metav1.NewTime(noon.Add(-3 * time.Hour)))
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
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			b.wrote("patch " + o.GetName())
			return c.Patch(ctx, o, p, opts...)
		},
	}
}

// result is what one command line came to.
type result struct {
	out, err string
	code     int
}

func (b *bench) config(stdout, stderr io.Writer, args []string) Config {
	return Config{
		Program: b.program, Args: args, Build: Build{Version: "v1.2.3", Commit: "abc", Date: "today"},
		Engines: []engine.Engine{opstest.Engine{}}, Signals: b.signals, Clients: b.fakeClients, Random: zeros{},
		Getenv: func(k string) string { return b.env[k] }, Now: func() time.Time { return b.now },
		Streams: Streams{In: b.in, Out: stdout, Err: stderr, InTTY: b.tty, Size: func() (int, int) { return 80, 24 }},
	}
}

func (b *bench) factory(stdout, stderr io.Writer, args []string) *Factory {
	return newFactory(b.config(stdout, stderr, args))
}

func (b *bench) run(args ...string) result {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(b.t.Context(), b.config(&stdout, &stderr, args))
	return result{out: stdout.String(), err: stderr.String(), code: code}
}

// must runs a command that prepares a test.
func (b *bench) must(args ...string) {
	b.t.Helper()
	if r := b.run(args...); r.code != ExitDone {
		b.t.Fatalf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	b.writes = nil
}

// cluster makes a formed cluster of three.
func (b *bench) cluster(name string) {
	b.t.Helper()
	b.must("create", name, "--engine", "fakedb", "--version", "3.5", "--progress", "none")
}

// backup puts one backup into the default repository and returns its identifier.
func (b *bench) backup(cluster string) string {
	b.t.Helper()
	id := cluster + "-20261120T120000Z-0a1b"
	d, err := repository.NewDirectory(filepath.Join(b.dir, ".local/share/kubectl-dbop/backups"))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := d.Prepare(); err != nil {
		b.t.Fatal(err)
	}
	w, err := d.Writer(b.t.Context(), id, "op")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := w.Write([]byte("some data")); err != nil {
		b.t.Fatal(err)
	}
	_, err = w.Commit(b.t.Context(), repository.Manifest{Format: 1, ID: id, Engine: "fakedb", Cluster: cluster, Namespace: "shop", Version: "3.5.9",
		ClusterID: "c1", Member: cluster + "-2", Operation: "op", Tool: "v1.2.3", StartedAt: noon.Add(-24 * time.Hour), FinishedAt: noon.Add(-24*time.Hour + 2*time.Second)},
		func(string) (engine.SnapshotFacts, error) {
			return engine.SnapshotFacts{Fingerprint: engine.Fingerprint{Revision: 42, Keys: 7}, Schema: "3.5", Members: []string{"a", "b", "c"}}, nil
		})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// golden compares with testdata/NAME.txt, or writes it with -update.
func (b *bench) golden(name string, r result) {
	b.t.Helper()
	text := "--- exit code\n" + itoa(int64(r.code)) + "\n--- stdout\n" + r.out + "--- stderr\n" + r.err
	text = strings.ReplaceAll(text, b.dir, "$HOME")
	compareGolden(b.t, name, text)
}

func compareGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text); diff != "" {
		t.Errorf("%s differs (-want +got), -update accepts it:\n%s", path, diff)
	}
}
