package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Namespace is where all clusters are: that is harder than many namespaces
// with a few each, for every observation is into a full one.
const Namespace = "fleet"

// creators is how many custom resources are sent at a time.
const creators = 16

// Clusters are the custom resources, seen as they change.
type Clusters struct {
	plane   *Plane
	dynamic dynamic.NamespaceableResourceInterface
	stop    context.CancelFunc

	mu      sync.Mutex
	ready   map[string]int64
	changed chan struct{}
	// steps is when the first step of an operation was seen, by cluster.
	steps map[string]time.Time
}

// Watch makes the namespace and begins to observe.
func (p *Plane) Watch(ctx context.Context) (*Clusters, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}
	if _, err := p.Client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("make a namespace: %w", err)
	}
	d, err := dynamic.NewForConfig(p.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	gv := v1alpha1.GroupVersion()
	c := &Clusters{plane: p, dynamic: d.Resource(gv.WithResource("databaseclusters")), ready: map[string]int64{},
		steps: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	ctx, c.stop = context.WithCancel(ctx)
	err = errors.Join(
		c.follow(ctx, d, gv.WithResource("databaseclusters"), "", c.sawCluster),
		c.follow(ctx, d, corev1.SchemeGroupVersion.WithResource("configmaps"), v1alpha1.LabelKind+"=operation",
			c.sawOperation),
	)
	return c, err
}

func (c *Clusters) follow(ctx context.Context, d dynamic.Interface, what schema.GroupVersionResource, selector string,
	saw func(*unstructured.Unstructured)) error {
	i := dynamicinformer.NewFilteredDynamicInformer(d, what, Namespace, 0, nil, func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = selector, fields.Everything().String()
	}).Informer()
	note := func(o any) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			saw(u)
		}
	}
	if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note,
		UpdateFunc: func(_, o any) { note(o) }}); err != nil {
		return fmt.Errorf("watch %s: %w", what.Resource, err)
	}
	go i.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
		return fmt.Errorf("watch %s: %w", what.Resource, context.Cause(ctx))
	}
	return nil
}

// Close stops looking.
func (c *Clusters) Close() { c.stop() }

// sawCluster keeps the generation that a cluster is ready at, 0 while it isn't.
func (c *Clusters) sawCluster(u *unstructured.Unstructured) {
	var o v1alpha1.DatabaseCluster
	if runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o) != nil {
		return
	}
	at := int64(0)
	for _, condition := range o.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == metav1.ConditionTrue &&
			o.Status.ObservedGeneration == o.Generation {
			at = o.Generation
		}
	}
	c.mu.Lock()
	c.ready[o.Name] = at
	c.mu.Unlock()
	c.wake()
}

// sawOperation keeps when a step of a cluster was seen to begin.
func (c *Clusters) sawOperation(u *unstructured.Unstructured) {
	raw, _, _ := unstructured.NestedString(u.Object, "data", "operation.json")
	var o v1alpha1.Operation
	if json.Unmarshal([]byte(raw), &o) != nil || len(o.Status.Journal) == 0 {
		return
	}
	c.mu.Lock()
	if _, known := c.steps[u.GetName()]; !known {
		c.steps[u.GetName()] = time.Now()
		c.steps[o.Spec.Cluster] = c.steps[u.GetName()]
	}
	c.mu.Unlock()
	c.wake()
}

func (c *Clusters) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// until waits until something that was seen is so.
func (c *Clusters) until(ctx context.Context, so func() bool) error {
	for {
		c.mu.Lock()
		done := so()
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.changed:
		}
	}
}

// Name is that of the n-th cluster.
func Name(n int) string { return fmt.Sprintf("db-%05d", n) }

// Create makes n custom resources of three members each, and waits until all are ready.
func (c *Clusters) Create(ctx context.Context, n int) error {
	next := make(chan int)
	failed := make(chan error, creators)
	var wg sync.WaitGroup
	for range creators {
		wg.Go(func() {
			for i := range next {
				if err := c.create(ctx, Name(i)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
		case err := <-failed:
			close(next)
			return err
		}
	}
	close(next)
	wg.Wait()
	last := time.Now()
	err := c.until(ctx, func() bool {
		ready := 0
		for _, at := range c.ready {
			if at > 0 {
				ready++
			}
		}
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Printf("   %d of %d clusters are ready\n", ready, n)
		}
		return ready >= n
	})
	if err != nil {
		return fmt.Errorf("wait for %d clusters: %w", n, err)
	}
	return nil
}

func (c *Clusters) create(ctx context.Context, name string) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion().String(), "kind": v1alpha1.KindDatabaseCluster,
		"metadata": map[string]any{"name": name, "namespace": Namespace},
		"spec": map[string]any{"engine": "etcd", "version": "3.6.16", "members": int64(3),
			"storage": map[string]any{"size": "1Gi"},
			"config":  map[string]any{"snapshot-count": "10000"}},
	}}
	if _, err := c.dynamic.Namespace(Namespace).Create(ctx, u, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	return nil
}

// Edit changes an option of one cluster, and returns how long it took until
// the first step of what follows was written down. Then it waits until the
// cluster is as wanted.
func (c *Clusters) Edit(ctx context.Context, name, snapshots string) (time.Duration, error) {
	c.mu.Lock()
	delete(c.steps, name)
	c.mu.Unlock()
	began := time.Now()
	patch := fmt.Sprintf(`{"spec":{"config":{"snapshot-count":%q}}}`, snapshots)
	u, err := c.dynamic.Namespace(Namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return 0, fmt.Errorf("edit %s: %w", name, err)
	}
	var took time.Duration
	err = c.until(ctx, func() bool {
		at, ok := c.steps[name]
		took = at.Sub(began)
		return ok
	})
	if err == nil {
		err = c.until(ctx, func() bool { return c.ready[name] >= u.GetGeneration() })
	}
	if err != nil {
		return 0, fmt.Errorf("wait for %s after an edit: %w", name, err)
	}
	return took, nil
}
