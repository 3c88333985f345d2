package cli

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
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// fakeClients is the only fake of Clients: records in a fake API server, and
// beside them what the test put there.
type fakeClients struct {
	api    client.WithWatch
	worlds map[string]*world
	// writes is what reached the API server, a database or a lease, in order.
	writes []string
	mu     sync.Mutex

	// connect fails where the API server can't be reached.
	connect func() error
	lockErr error
	// verifyErr is what a verification ends with.
	verifyErr error
	// verifying is called by a verification that waits until its end.
	verifying func()
	outsider  *stranger
	// evidence is everything that exists.
	evidence kube.Evidence
	// site is what a namespace offers.
	site kube.Preflight
	// held says who works on the clusters.
	held    kube.Holding
	heldErr error
	// door leads to a member.
	door func(member string) (LocalProxy, error)
	// server is the API server's version.
	server *version.Info
	// serverErr is why it does not answer.
	serverErr error

	// items are pods, logs what each of them wrote, argv what was executed.
	items []corev1.Pod
	logs  map[string]string
	argv  []string
	// readLog replaces the reading of logs.
	readLog func(ctx context.Context, pod string, o corev1.PodLogOptions) (io.ReadCloser, error)

	// custom is a custom resource, alive its operator.
	custom    *v1alpha1.DatabaseCluster
	alive     bool
	customErr error
	// released are the clusters that were given back; releaseErr keeps one.
	released   []string
	releaseErr error
	// objects are what is installed, by kind and name; image is that of an
	// operator whose objects don't matter.
	objects map[string]*unstructured.Unstructured
	applied []string
	image   string
}

// at is the world of one cluster.
func (c *fakeClients) at(cluster string) *world {
	if c.worlds[cluster] == nil {
		c.worlds[cluster] = &world{c: c, changed: make(chan struct{})}
	}
	return c.worlds[cluster]
}

func (c *fakeClients) wrote(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, what)
}

func (c *fakeClients) store(mode kube.DryRun) kube.Store {
	return kube.NewConfigMapStore(kube.Wrap(c.api, kube.Options{DryRun: mode}))
}

func (c *fakeClients) addPods(cluster string, members ...string) {
	for _, m := range members {
		var pod corev1.Pod
		pod.Namespace, pod.Name = "shop", v1alpha1.PodName(m)
		pod.Labels = map[string]string{v1alpha1.LabelCluster: cluster, v1alpha1.LabelMember: m}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		c.items = append(c.items, pod)
	}
}

func (c *fakeClients) Store(mode kube.DryRun) (kube.Store, error) {
	if c.connect != nil {
		if err := c.connect(); err != nil {
			return nil, err
		}
	}
	return c.store(mode), nil
}

func (c *fakeClients) Runner(o RunnerOptions) (*Runner, error) {
	open := func(namespace, cluster string) ops.ClosableWorld {
		w := c.at(cluster)
		w.mode, w.wanted, w.key = o.DryRun, o.Wanted, client.ObjectKey{Namespace: namespace, Name: cluster}
		return w
	}
	lock := func(context.Context, string, string, func(string, time.Duration)) (kube.Lease, error) {
		c.wrote("take the lease")
		return lease{}, c.lockErr
	}
	return &Runner{World: open, operations: &runner.Runner{Engine: o.Engine, Store: c.store(o.DryRun), World: open,
		Lock: lock, Reporter: o.Reporter, Stop: o.Stop, Poll: time.Millisecond}}, nil
}

func (c *fakeClients) External(_ context.Context, config external.OutsiderConfig) (External, error) {
	c.outsider.config = config
	return c.outsider, nil
}

func (c *fakeClients) Repository(_ context.Context, _ string, at repository.Location, _ string) (repository.Repository, error) {
	return repository.NewDirectory(at.Path)
}

// Verify waits once, and then proves the backup.
func (c *fakeClients) Verify(ctx context.Context, v Verification) error {
	c.wrote("verify " + v.Backup)
	v.Waiting(fmt.Errorf("the throw-away member starts: %w", engine.ErrNotReady).Error())
	if c.verifying != nil {
		c.verifying()
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if c.verifyErr != nil {
		return c.verifyErr
	}
	return v.Repository.MarkVerified(ctx, v.Backup, repository.Verification{Time: noon, Version: "3.5.9", Tool: "v1.2.3"})
}

func (c *fakeClients) LocalProxy(_ context.Context, _ *target, member string) (LocalProxy, error) {
	return c.door(member)
}

func (c *fakeClients) Pods(context.Context, string, string) ([]corev1.Pod, error) {
	return c.items, nil
}

func (c *fakeClients) Logs(ctx context.Context, _, pod string, o corev1.PodLogOptions) (io.ReadCloser, error) {
	if c.readLog != nil {
		return c.readLog(ctx, pod, o)
	}
	return io.NopCloser(strings.NewReader(c.logs[pod])), nil
}

func (c *fakeClients) Exec(_ context.Context, _, _ string, argv []string, _ Streams, _ bool) error {
	c.argv = argv
	return nil
}

func (c *fakeClients) Namespaces(context.Context) ([]string, error) {
	return []string{"shop", "stage"}, nil
}

func (c *fakeClients) Holding(context.Context, string, string) (kube.Holding, error) {
	return c.held, c.heldErr
}
func (c *fakeClients) Evidence(context.Context, string, string) kube.Evidence { return c.evidence }
func (c *fakeClients) Kept(ctx context.Context, namespace, cluster string) (kube.Kept, error) {
	return kube.Wrap(c.api, kube.Options{}).Kept(ctx, namespace, cluster)
}

func (c *fakeClients) Leftovers(ctx context.Context, namespace string) ([]string, error) {
	return kube.Wrap(c.api, kube.Options{}).Leftovers(ctx, namespace)
}

func (c *fakeClients) Preflight(context.Context, string, string) (kube.Preflight, error) {
	return c.site, nil
}

func (c *fakeClients) CertificateSecrets(context.Context, string) ([]string, error) {
	return []string{"mine"}, nil
}

// Users are three, of whom one was rotated and one is somebody else's.
func (c *fakeClients) Users(context.Context, *target) ([]engine.User, error) {
	return []engine.User{{Name: "billing.2", Role: "billing", Grants: []engine.Grant{{Prefix: "/billing/"}, {ReadOnly: true}}},
		{Name: "root", Admin: true}, {Name: "theirs", Role: "own"}}, nil
}

func (c *fakeClients) Passwords(_ context.Context, _, secret string) (kube.Passwords, error) {
	switch secret {
	case "my-db-root":
		return kube.Passwords{Current: kube.Password{User: "root", Password: "s3cret-root"}, Former: &kube.Password{User: "root", Password: "old"}}, nil
	case "my-db-user-billing":
		return kube.Passwords{Current: kube.Password{User: "billing.2", Password: "s3cret-billing"}, Former: &kube.Password{User: "billing", Password: "old"}}, nil
	}
	return kube.Passwords{}, kube.ErrNotFound
}

func (c *fakeClients) Custom(context.Context, string, string) (*v1alpha1.DatabaseCluster, bool, error) {
	return c.custom, c.alive, c.customErr
}

func (c *fakeClients) Adopt(context.Context, *target) error { return nil }
func (c *fakeClients) Release(_ context.Context, t *target) error {
	c.released = append(c.released, fmt.Sprintf("%s/%s with %d objects", t.namespace, t.cluster.Name, len(c.objects)))
	return c.releaseErr
}

func manifestName(u *unstructured.Unstructured) string {
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

func (c *fakeClients) Manifest(_ context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if o := c.objects[manifestName(u)]; o != nil {
		return o.DeepCopy(), nil
	}
	return nil, kube.ErrNotFound
}

func (c *fakeClients) ApplyManifest(_ context.Context, mode kube.DryRun, u *unstructured.Unstructured) error {
	c.applied = append(c.applied, u.GetKind())
	if mode == kube.DryRunNone {
		c.objects[manifestName(u)] = u.DeepCopy()
	}
	return nil
}

func (c *fakeClients) DeleteManifest(_ context.Context, _ kube.DryRun, u *unstructured.Unstructured) error {
	delete(c.objects, manifestName(u))
	return nil
}

func (c *fakeClients) Rollout(context.Context, string, string) (ready, wanted int64, image string, err error) {
	if c.image == "" && len(c.objects) == 0 {
		return 0, 0, "", kube.ErrNotFound
	}
	return 2, 2, c.image, nil
}

func (c *fakeClients) ServerVersion() (*version.Info, error) { return c.server, c.serverErr }
func (c *fakeClients) Whoami(context.Context) string         { return "ada" }
