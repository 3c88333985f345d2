package opstest

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
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Bench is a cluster "db" in namespace "shop", as far as a test makes it.
type Bench struct {
	T        *testing.T
	Server   *server
	Database *Database
	Tunnels  *tunnels
	Op       *v1alpha1.Operation
	ReadOnly bool
	// Last is the last observation of a cluster that was there.
	Last ops.State
}

// NewBench is a bench without objects.
func NewBench(t *testing.T) *Bench {
	return &Bench{T: t, Server: newServer(), Database: &Database{}, Tunnels: &tunnels{At: map[string]string{}}}
}

func (b *Bench) Client() *kube.Client { return kube.Wrap(b.Server.API, kube.Options{}) }

func (b *Bench) Store() store.Store {
	return store.NewConfigMaps(kube.Wrap(b.Server.Raw, kube.Options{}))
}

// Founded stores the cluster; it has formed unless the id is "".
func (b *Bench) Founded(members int, id string) *v1alpha1.DatabaseCluster {
	b.T.Helper()
	c := Wanted(members).Cluster
	c.Spec.HelperImage = "example.com/tool:v1"
	c.Status.Bootstrap.ClusterID = id
	b.Must(b.Store().CreateCluster(b.T.Context(), c))
	m := &corev1.ConfigMap{}
	b.Must(b.Server.Raw.Get(b.T.Context(), client.ObjectKey{Namespace: "shop", Name: v1alpha1.Record("db")}, m))
	m.UID = "cluster"
	b.Must(b.Server.Raw.Update(b.T.Context(), m))
	return b.Cluster()
}

// Pod makes the pod of a member's workload, running.
func (b *Bench) Pod(member string) *corev1.Pod {
	b.T.Helper()
	w := &appsv1.StatefulSet{}
	b.Must(b.Server.Raw.Get(b.T.Context(), client.ObjectKey{Namespace: "shop", Name: member}, w))
	b.Server.uid++
	p := &corev1.Pod{ObjectMeta: *w.Spec.Template.ObjectMeta.DeepCopy(), Spec: *w.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace, p.UID = v1alpha1.PodName(member), "shop", types.UID(fmt.Sprintf("uid-%d", b.Server.uid))
	p.Status = Started(p, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
	b.Must(b.Server.Raw.Create(b.T.Context(), p))
	return p
}

// Started is the status of a pod whose first container is in that state.
func Started(p *corev1.Pod, is corev1.ContainerState) corev1.PodStatus {
	c := p.Spec.Containers[0]
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: c.Name,
		Image: c.Image, State: is}}}
}

// Edit changes an object behind everybody's back.
func Edit[T client.Object](b *Bench, o T, name string, change func(T)) {
	b.T.Helper()
	b.Must(b.Server.Raw.Get(b.T.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o))
	change(o)
	whole, _ := o.DeepCopyObject().(client.Object)
	b.Must(b.Server.Raw.Update(b.T.Context(), o))
	whole.SetResourceVersion(o.GetResourceVersion())
	// What has no status is not found by that path.
	b.Must(client.IgnoreNotFound(b.Server.Raw.Status().Update(b.T.Context(), whole)))
}

// Held keeps an object from going when it is deleted.
func Held[T client.Object](b *Bench, o T, name string) {
	b.T.Helper()
	Edit(b, o, name, func(o T) { o.SetFinalizers([]string{"example.com/held"}) })
}

func (b *Bench) Cluster() *v1alpha1.DatabaseCluster {
	b.T.Helper()
	c, err := b.Store().GetCluster(b.T.Context(), "shop", "db")
	b.Must(err)
	return c
}

func (b *Bench) Exists(o client.Object, name string) bool {
	b.T.Helper()
	err := b.Server.Raw.Get(b.T.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o)
	b.Must(client.IgnoreNotFound(err))
	return err == nil
}

func (b *Bench) Must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatal(err)
	}
}

// Object is metadata of something in the namespace.
func Object(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels}
}

// tunnels lead to what listens on this machine, by pod and port.
type tunnels struct {
	mu sync.Mutex
	At map[string]string
}

func (t *tunnels) Open(_ context.Context, _, pod string) (dial.Tunnel, error) {
	return &tunnel{of: t, pod: pod}, nil
}

func (t *tunnels) listens(pod string, port int, l net.Listener) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.At[fmt.Sprintf("%s:%d", pod, port)] = l.Addr().String()
}

type tunnel struct {
	of  *tunnels
	pod string
}

func (t *tunnel) Open(ctx context.Context, port int) (net.Conn, error) {
	t.of.mu.Lock()
	address, ok := t.of.At[fmt.Sprintf("%s:%d", t.pod, port)]
	t.of.mu.Unlock()
	if !ok {
		return nil, errors.New("nothing listens there")
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

func (*tunnel) Done() <-chan struct{} { return nil }

func (*tunnel) Close() error { return nil }
