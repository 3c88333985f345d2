package clitest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/password"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Fake is the only fake of Clients: records in a fake API server, and
// beside them what the test put there.
type Fake struct {
	API    client.WithWatch
	worlds map[string]*world
	// Writes is what reached the API server, a database or a lease, in order.
	Writes []string
	mu     sync.Mutex

	// Repositories are those that have a name.
	Repositories Named
	// Stores are what is opened by a name.
	Stores map[string]repository.Repository
	// Connect fails where the API server can't be reached.
	Connect func() error
	LockErr error
	// VerifyErr is what a verification ends with.
	VerifyErr error
	// Verifying is called by a verification that waits until its end.
	Verifying       func()
	ExternalCluster *FakeExternal
	// Everything is everything that exists.
	Everything observe.Evidence
	// Site is what a namespace offers.
	Site preflight.Report
	// held says who works on the clusters.
	held    lease.Holding
	heldErr error
	// Door leads to a member, as a user.
	Door func(member, user string) (clients.LocalProxy, error)
	// Server is the API server's version.
	Server *version.Info
	// ServerErr is why it does not answer.
	ServerErr error

	// Items are pods, logs what each of them wrote, argv what was executed.
	Items    []corev1.Pod
	LogTexts map[string]string
	argv     []string
	// Executing, if it is set, executes.
	Executing func(argv []string, s progress.Streams) error

	// CustomResource is a custom resource, alive its operator.
	CustomResource *v1alpha1.DatabaseCluster
	Alive          bool
	CustomErr      error
	// Released are the clusters that were given back; releaseErr keeps one.
	Released   []string
	ReleaseErr error
	// Objects are what is installed, by kind and name; image is that of an
	// operator whose objects don't matter.
	Objects map[string]*unstructured.Unstructured
	Applied []string
	Image   string
}

// At is the world of one cluster.
func (c *Fake) At(cluster string) *world {
	if c.worlds[cluster] == nil {
		c.worlds[cluster] = &world{c: c, changed: make(chan struct{})}
	}
	return c.worlds[cluster]
}

func (c *Fake) wrote(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Writes = append(c.Writes, what)
}

func (c *Fake) Records(mode kube.DryRun) store.Store {
	return store.NewConfigMaps(kube.Wrap(c.API, kube.Options{DryRun: mode}))
}

func (c *Fake) AddPods(cluster string, members ...string) {
	for _, m := range members {
		var pod corev1.Pod
		pod.Namespace, pod.Name = "shop", v1alpha1.PodName(m)
		pod.Labels = map[string]string{v1alpha1.LabelCluster: cluster, v1alpha1.LabelMember: m}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		c.Items = append(c.Items, pod)
	}
}

func (c *Fake) Store(mode kube.DryRun) (store.Store, error) {
	if c.Connect != nil {
		if err := c.Connect(); err != nil {
			return nil, err
		}
	}
	return c.Records(mode), nil
}

func (c *Fake) Runner(o clients.RunnerOptions) (*clients.Runner, error) {
	open := func(namespace, cluster string) ops.ClosableCluster {
		w := c.At(cluster)
		w.mode, w.wanted, w.key = o.DryRun, o.Wanted, client.ObjectKey{Namespace: namespace, Name: cluster}
		return w
	}
	lock := func(context.Context, string, string, lease.Scope, func(string, time.Duration)) (lease.Lease, error) {
		c.wrote("take the lease")
		return freeLease{}, c.LockErr
	}
	return &clients.Runner{Cluster: open,
		Operations: &runner.Runner{Engine: o.Engine, Store: c.Records(o.DryRun), Cluster: open,
			Lock: lock, Reporter: o.Reporter, Stop: o.Stop, Poll: time.Millisecond}}, nil
}

func (c *Fake) External(_ context.Context, config external.Config) (clients.External, error) {
	c.ExternalCluster.Config = config
	return c.ExternalCluster, nil
}

func (c *Fake) Repository(_ context.Context, _ string, at repository.Location, _ string) (repository.Repository,
	error) {
	if r, ok := c.Stores[at.Name]; ok {
		return r, nil
	}
	return repository.NewDirectory(at.Path)
}

// Verify waits once, and then proves the backup.
func (c *Fake) Verify(ctx context.Context, v clients.Verification) error {
	c.wrote("verify " + v.Backup)
	v.Waiting(fmt.Errorf("the throw-away member starts: %w", engine.ErrNotReady).Error())
	if c.Verifying != nil {
		c.Verifying()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if c.VerifyErr != nil {
		return c.VerifyErr
	}
	p := repository.Proof{Level: v.Level, Verification: repository.Verification{Time: Noon, Tool: "v1.2.3"}, By: v.By}
	if v.Level == repository.LevelRestorable {
		p.Version, p.Checked = "3.5.9", "pages by fakecheck"
	}
	return v.Repository.AddProof(ctx, v.Backup, p)
}

func (c *Fake) LocalProxy(_ context.Context, _ *clients.Target, member, user string) (clients.LocalProxy, error) {
	return c.Door(member, user)
}

func (c *Fake) Pods(context.Context, string, string) ([]corev1.Pod, error) {
	return c.Items, nil
}

func (c *Fake) Logs(_ context.Context, _, pod string, _ corev1.PodLogOptions) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(c.LogTexts[pod])), nil
}

func (c *Fake) Exec(_ context.Context, _, _ string, argv []string, s progress.Streams, _ bool) error {
	c.argv = argv
	if c.Executing != nil {
		return c.Executing(argv, s)
	}
	return nil
}

func (c *Fake) Namespaces(context.Context) ([]string, error) {
	return []string{"shop", "stage"}, nil
}

func (c *Fake) Holding(context.Context, string, string, lease.Scope) (lease.Holding, error) {
	return c.held, c.heldErr
}

func (c *Fake) Evidence(context.Context, string, string) observe.Evidence { return c.Everything }

func (c *Fake) Kept(ctx context.Context, namespace, cluster string) (store.Kept, error) {
	return store.FindKept(ctx, kube.Wrap(c.API, kube.Options{}), namespace, cluster)
}

func (c *Fake) Leftovers(ctx context.Context, namespace string) ([]string, error) {
	return observe.Leftovers(ctx, kube.Wrap(c.API, kube.Options{}), namespace)
}

func (c *Fake) Preflight(context.Context, string, string) (preflight.Report, error) {
	return c.Site, nil
}

func (c *Fake) CertificateSecrets(context.Context, string) ([]string, error) {
	return []string{"mine"}, nil
}

// Users are three, of whom one was rotated and one is somebody else's.
func (c *Fake) Users(context.Context, *clients.Target) ([]engine.User, error) {
	return []engine.User{
		{Name: "billing.2", Role: "billing", Grants: []engine.Grant{{Prefix: "/billing/"}, {ReadOnly: true}}},
		{Name: "root", Admin: true}, {Name: "theirs", Role: "own"}}, nil
}

func (c *Fake) Passwords(_ context.Context, _, secret string) (password.Set, error) {
	switch secret {
	case "my-db-root":
		return password.Set{Current: password.Password{User: "root", Password: "s3cret-root"},
			Former: &password.Password{User: "root", Password: "old"}}, nil
	case "my-db-user-billing":
		return password.Set{Current: password.Password{User: "billing.2", Password: "s3cret-billing"},
			Former: &password.Password{User: "billing", Password: "old"}}, nil
	}
	return password.Set{}, kube.ErrNotFound
}

func (c *Fake) Custom(context.Context, string, string) (*v1alpha1.DatabaseCluster, bool, error) {
	return c.CustomResource, c.Alive, c.CustomErr
}

func (c *Fake) Adopt(context.Context, *clients.Target) error { return nil }

func (c *Fake) Release(_ context.Context, t *clients.Target) error {
	c.Released = append(c.Released, fmt.Sprintf("%s/%s with %d objects", t.Namespace, t.Cluster.Name, len(c.Objects)))
	return c.ReleaseErr
}

func manifestName(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func (c *Fake) Manifest(_ context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if o := c.Objects[manifestName(u)]; o != nil {
		return o.DeepCopy(), nil
	}
	return nil, kube.ErrNotFound
}

func (c *Fake) ApplyManifest(_ context.Context, mode kube.DryRun, u *unstructured.Unstructured) error {
	c.Applied = append(c.Applied, u.GetKind())
	if mode == kube.DryRunNone {
		c.Objects[manifestName(u)] = u.DeepCopy()
	}
	return nil
}

func (c *Fake) DeleteManifest(_ context.Context, _ kube.DryRun, u *unstructured.Unstructured) error {
	delete(c.Objects, manifestName(u))
	return nil
}

func (c *Fake) Rollout(context.Context, string, string) (ready, wanted int64, image string, err error) {
	if c.Image == "" && len(c.Objects) == 0 {
		return 0, 0, "", kube.ErrNotFound
	}
	return 2, 2, c.Image, nil
}

func (c *Fake) ServerVersion() (*version.Info, error) { return c.Server, c.ServerErr }

func (c *Fake) Whoami(context.Context) string { return "ada" }
