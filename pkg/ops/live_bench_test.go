package ops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// bench is a cluster "db" in namespace "shop", as far as a test makes it.
type bench struct {
	t        *testing.T
	server   *server
	database *database
	tunnels  *tunnels
	op       *v1alpha1.Operation
	readOnly bool
	// last is the last look at a cluster that was there.
	last State
}

func newBench(t *testing.T) *bench {
	return &bench{t: t, server: newServer(), database: &database{}, tunnels: &tunnels{at: map[string]string{}}}
}

func (b *bench) client() *kube.Client { return kube.Wrap(b.server.api, kube.Options{}) }

func (b *bench) store() kube.Store {
	return kube.NewConfigMapStore(kube.Wrap(b.server.raw, kube.Options{}))
}

// live is a fresh process.
func (b *bench) live() *Live {
	b.t.Helper()
	c := b.client()
	l := NewLive(LiveConfig{Client: c, Store: kube.NewConfigMapStore(c), Dialer: kube.NewDialer(c, b.tunnels.open), Engine: b.database,
		Namespace: "shop", Name: "db", Tool: "v1", HelperImage: "example.com/tool:v1", ReadOnly: b.readOnly})
	b.t.Cleanup(func() { _ = l.Close() })
	return l
}

// founded stores the cluster; it has formed unless the id is "".
func (b *bench) founded(members int, id string) *v1alpha1.DatabaseCluster {
	b.t.Helper()
	c := wanted(members).Cluster
	c.Spec.HelperImage = "example.com/tool:v1"
	c.Status.Formation.ClusterID = id
	b.must(b.store().CreateCluster(b.t.Context(), c))
	m := &corev1.ConfigMap{}
	b.must(b.server.raw.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")}, m))
	m.UID = "cluster"
	b.must(b.server.raw.Update(b.t.Context(), m))
	return b.cluster()
}

// running starts members as their controllers would, of the cluster as it is.
func (b *bench) running(members ...string) {
	b.t.Helper()
	l := b.live()
	s := State{Cluster: b.cluster()}
	b.must(b.client().EnsureCertificates(b.t.Context(), s.Cluster))
	b.must(l.start(b.t.Context(), s, members))
	for _, m := range members {
		b.pod(m)
	}
	b.server.writes = nil
}

// pod makes the pod of a member's workload, running.
func (b *bench) pod(member string) *corev1.Pod {
	b.t.Helper()
	w := &appsv1.StatefulSet{}
	b.must(b.server.raw.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: member}, w))
	b.server.uid++
	p := &corev1.Pod{ObjectMeta: *w.Spec.Template.ObjectMeta.DeepCopy(), Spec: *w.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace, p.UID = v1alpha1.PodName(member), "shop", types.UID(fmt.Sprintf("uid-%d", b.server.uid))
	p.Status = started(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	b.must(b.server.raw.Create(b.t.Context(), p))
	return p
}

// started is the status of a pod whose first container is in that state.
func started(p *corev1.Pod, is corev1.ContainerState) corev1.PodStatus {
	c := p.Spec.Containers[0]
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, State: is}}}
}

// edit changes an object behind everybody's back.
func edit[T client.Object](b *bench, o T, name string, change func(T)) {
	b.t.Helper()
	b.must(b.server.raw.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o))
	change(o)
	whole, _ := o.DeepCopyObject().(client.Object)
	b.must(b.server.raw.Update(b.t.Context(), o))
	whole.SetResourceVersion(o.GetResourceVersion())
	// What has no status is not found by that path.
	b.must(client.IgnoreNotFound(b.server.raw.Status().Update(b.t.Context(), whole)))
}

// held keeps an object from going when it is deleted.
func held[T client.Object](b *bench, o T, name string) {
	b.t.Helper()
	edit(b, o, name, func(o T) { o.SetFinalizers([]string{"example.com/held"}) })
}

func (b *bench) cluster() *v1alpha1.DatabaseCluster {
	b.t.Helper()
	c, err := b.store().GetCluster(b.t.Context(), "shop", "db")
	b.must(err)
	return c
}

func (b *bench) exists(o client.Object, name string) bool {
	b.t.Helper()
	err := b.server.raw.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o)
	b.must(client.IgnoreNotFound(err))
	return err == nil
}

// observe looks, with the operation in flight.
func (b *bench) observe(l *Live) State {
	b.t.Helper()
	if b.op != nil {
		attend(l, b.op.Spec.Verb, true)
	}
	s, err := l.Observe(b.t.Context())
	b.must(err)
	s.Operation = b.op
	return s
}

// perform does one step from a fresh observation of a fresh process.
func (b *bench) perform(step Step) (Result, error) {
	b.t.Helper()
	l := b.live()
	return l.Perform(b.t.Context(), b.observe(l), step, func(int64, int64) {})
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// object is metadata of something in the namespace.
func object(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}
}

// tunnels lead to what listens on this machine, by pod and port.
type tunnels struct {
	mu sync.Mutex
	at map[string]string
}

func (t *tunnels) open(_ context.Context, _, pod string) (kube.Tunnel, error) {
	return &tunnel{of: t, pod: pod}, nil
}

func (t *tunnels) listens(pod string, port int, l net.Listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at[fmt.Sprintf("%s:%d", pod, port)] = l.Addr().String()
}

type tunnel struct {
	of  *tunnels
	pod string
}

func (t *tunnel) Open(ctx context.Context, port int) (net.Conn, error) {
	t.of.mu.Lock()
	address, ok := t.of.at[fmt.Sprintf("%s:%d", t.pod, port)]
	t.of.mu.Unlock()
	if !ok {
		return nil, errors.New("nothing listens there")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (*tunnel) Done() <-chan struct{} { return nil }
func (*tunnel) Close() error          { return nil }
