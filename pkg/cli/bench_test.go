package cli

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when all tests happen.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is a command line over a store in a fake API server and a database
// that does what plans predict.
type bench struct {
	t      *testing.T
	api    client.WithWatch
	worlds map[string]*world
	// world is that of my-db.
	world   *world
	pods    *fakePods
	signals chan os.Signal
	env     map[string]string
	in      io.Reader
	tty     bool
	dir     string
	writes  []string
	lockErr error
	// verifyErr is what a verification ends with.
	verifyErr error
	outsider  *stranger
	// evidence is everything that exists.
	evidence kube.Evidence
	// site is what a namespace offers.
	site kube.Preflight
	// operator is the image of an operator, "" for none.
	operator string
	connect  func() error
	// held says who works on the clusters.
	held    kube.Holding
	heldErr error
	// door leads to a member.
	door func(member string) (doorway, error)
	// installer is where an operator is installed; nil for nowhere.
	installer *fakeSite
	// customs are custom resources; nil for a server that has none.
	customs runner.Customs
	// handover replaces what adopts and releases clusters.
	handover func(engine.Engine) (handover, runner.Customs, error)
	mu       sync.Mutex
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	site := kube.Preflight{Namespace: kube.Namespace{Name: "shop", Exists: true, PodSecurity: "restricted"},
		Classes: kube.Classes{Names: []string{"fast"}, Default: "fast", Expandable: true}}
	b := &bench{t: t, site: site, dir: dir, pods: &fakePods{}, outsider: &stranger{}, in: strings.NewReader(""), signals: make(chan os.Signal, 2)}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	content := "apiVersion: v1\nkind: Config\ncurrent-context: demo\ncontexts:\n- name: demo\n  context: {cluster: c, user: u, namespace: shop}\n" +
		"clusters:\n- name: c\n  cluster: {server: 'http://127.0.0.1:1'}\nusers:\n- name: u\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	b.env = map[string]string{"HOME": dir}
	b.api = interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), b.recording())
	b.worlds = map[string]*world{}
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

// at is the world of one cluster.
func (b *bench) at(cluster string) *world {
	if b.worlds[cluster] == nil {
		b.worlds[cluster] = &world{b: b, changed: make(chan struct{})}
	}
	return b.worlds[cluster]
}

func (b *bench) wrote(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.writes = append(b.writes, what)
}

func (b *bench) store(mode kube.DryRun) kube.Store {
	return kube.NewConfigMapStore(kube.Wrap(b.api, kube.Options{DryRun: mode}))
}

// result is what one command line came to.
type result struct {
	out, err string
	code     int
}

func (b *bench) factory(stdout, stderr io.Writer, args []string) *Factory {
	f := newFactory(Config{
		Program: "kubectl-dbop", Args: args, Build: Build{Version: "v1.2.3", Commit: "abc", Date: "today"},
		Engines: []engine.Engine{opstest.Engine{}}, Signals: b.signals,
		Getenv: func(k string) string { return b.env[k] }, Now: func() time.Time { return noon },
		Streams: Streams{In: b.in, Out: stdout, Err: stderr, InTTY: b.tty, Size: func() (int, int) { return 80, 24 }},
	})
	f.random = zeros{}
	f.newStore = func(mode kube.DryRun) (kube.Store, error) {
		if b.connect != nil {
			if err := b.connect(); err != nil {
				return nil, err
			}
		}
		return b.store(mode), nil
	}
	f.newRunner = func(o runnerOptions) (*driver, error) {
		open := func(namespace, cluster string) ops.ClosableWorld {
			w := b.at(cluster)
			w.mode, w.wanted, w.key = o.dryRun, o.wanted, client.ObjectKey{Namespace: namespace, Name: cluster}
			return w
		}
		lock := func(context.Context, string, string, func(string, time.Duration)) (kube.Lease, error) {
			b.wrote("take the lease")
			return lease{}, b.lockErr
		}
		return &driver{world: open, operations: &runner.Runner{Engine: o.engine, Store: b.store(o.dryRun), World: open, Lock: lock,
			Reporter: o.reporter, Stop: o.stop, Poll: time.Millisecond}}, nil
	}
	f.newVerifier = func(runnerOptions) (verifier, error) { return &fakeVerifier{b: b}, nil }
	f.newOutsider = func(_ context.Context, c external.OutsiderConfig) (outsider, error) {
		b.outsider.config = c
		return b.outsider, nil
	}
	f.holding = func(context.Context, string, string) (kube.Holding, error) { return b.held, b.heldErr }
	f.evidence = func(context.Context, string, string) kube.Evidence { return b.evidence }
	f.kept = func(ctx context.Context, namespace, cluster string) (kube.Kept, error) {
		return kube.Wrap(b.api, kube.Options{}).Kept(ctx, namespace, cluster)
	}
	f.newPods = func() (pods, error) { return b.pods, nil }
	f.newDoorway = b.doorway
	f.newHandover = func(engine.Engine) (handover, runner.Customs, error) { return nil, b.customs, nil }
	if b.handover != nil {
		f.newHandover = b.handover
	}
	f.newInstaller = func(mode kube.DryRun) (installer, error) {
		if b.installer == nil {
			return &fakeSite{image: b.operator}, nil
		}
		b.installer.mode = mode
		return b.installer, nil
	}
	f.leftovers = func(ctx context.Context, namespace string) ([]string, error) {
		return kube.Wrap(b.api, kube.Options{}).Leftovers(ctx, namespace)
	}
	f.certificates = func(context.Context, string) ([]string, error) { return []string{"mine"}, nil }
	f.newRepository = func(_ context.Context, _ string, at repository.Location, _ string) (repository.Repository, error) {
		return repository.NewDirectory(at.Path)
	}
	f.serverVersion = func() (*version.Info, error) {
		return &version.Info{Major: "1", Minor: "33", GitVersion: "v1.33.1"}, nil
	}
	f.whoami = func(context.Context) string { return "ada" }
	f.newKeys = func(string, *v1alpha1.DatabaseCluster, engine.Engine) (keys, error) { return fakeKeys{}, nil }
	f.preflight = func(context.Context, string, string) (kube.Preflight, error) { return b.site, nil }
	return f
}

func (b *bench) run(args ...string) result {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(b.t.Context(), b.factory(&stdout, &stderr, args))
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
