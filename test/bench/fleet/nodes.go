package fleet

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// hands is how many members the simulated nodes work on at once.
const hands = 8

// Nodes do for StatefulSets, claims and pods what controllers, provisioner,
// scheduler and kubelets do, at once, and run a simulated member in each pod.
type Nodes struct {
	client    kubernetes.Interface
	databases *databases
	server    *server
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	sets      cache.Indexer
	pods      cache.Indexer
	claims    cache.Indexer
	stop      func()
	wg        sync.WaitGroup
}

// Populate runs nodes until Stop.
func Populate(ctx context.Context, client kubernetes.Interface) (*Nodes, error) {
	n := &Nodes{client: client, databases: &databases{members: map[string]*member{}},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](
			50*time.Millisecond, 5*time.Second))}
	var err error
	if n.server, err = serve(n.databases); err != nil {
		return nil, err
	}
	ctx, n.stop = context.WithCancel(ctx)
	all := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelMember }))
	for indexer, informer := range map[*cache.Indexer]cache.SharedIndexInformer{
		&n.sets: all.Apps().V1().StatefulSets().Informer(), &n.pods: all.Core().V1().Pods().Informer(),
		&n.claims: all.Core().V1().PersistentVolumeClaims().Informer(),
	} {
		*indexer = informer.GetIndexer()
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: n.changed, DeleteFunc: n.changed, UpdateFunc: func(_, o any) { n.changed(o) },
		}); err != nil {
			return nil, fmt.Errorf("watch members: %w", err)
		}
	}
	all.Start(ctx.Done())
	all.WaitForCacheSync(ctx.Done())
	for range hands {
		n.wg.Go(func() { n.work(ctx) })
	}
	return n, nil
}

// slim drops what is long and of no use here.
func slim(o any) (any, error) {
	if m, err := meta.Accessor(o); err == nil {
		m.SetManagedFields(nil)
	}
	return o, nil
}

// Stop ends all members.
func (n *Nodes) Stop() error {
	n.stop()
	n.queue.ShutDown()
	n.wg.Wait()
	return n.server.http.Close()
}

// Settle waits until so many members run: those of a fleet that was left behind start again.
func (n *Nodes) Settle(ctx context.Context, members int) error {
	for n.databases.running() < members {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %d members, %d run: %w", members, n.databases.running(), context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
	return nil
}

func (n *Nodes) changed(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	m, err := meta.Accessor(o)
	if err != nil {
		return
	}
	if name := m.GetLabels()[v1alpha1.LabelMember]; name != "" {
		n.queue.Add(cache.NewObjectName(m.GetNamespace(), name))
	}
}

func (n *Nodes) work(ctx context.Context) {
	for {
		key, over := n.queue.Get()
		if over {
			return
		}
		err := n.tend(ctx, key)
		switch {
		case err == nil:
			n.queue.Forget(key)
		case ctx.Err() == nil:
			if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
				fmt.Fprintf(os.Stderr, "nodes: %s: %v\n", key, err)
			}
			n.queue.AddRateLimited(key)
		}
		n.queue.Done(key)
	}
}

// tend brings one member as far as it can.
func (n *Nodes) tend(ctx context.Context, key cache.ObjectName) error {
	claim := find[*corev1.PersistentVolumeClaim](n.claims, key.Namespace, v1alpha1.VolumeName(key.Name))
	pod := find[*corev1.Pod](n.pods, key.Namespace, v1alpha1.PodName(key.Name))
	set := find[*appsv1.StatefulSet](n.sets, key.Namespace, key.Name)
	if claim != nil && claim.Status.Phase != corev1.ClaimBound {
		if err := n.bind(ctx, claim.DeepCopy()); err != nil {
			return err
		}
	}
	if set != nil && set.Status.ObservedGeneration != set.Generation {
		if err := n.observe(ctx, set.DeepCopy()); err != nil {
			return err
		}
	}
	switch {
	case pod != nil && (pod.DeletionTimestamp != nil || set == nil):
		n.databases.end(hostOfPod(pod))
		now := int64(0)
		return n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
	case set == nil || claim == nil:
		return nil
	case pod == nil:
		return n.create(ctx, set)
	case pod.Status.Phase != corev1.PodRunning || !n.databases.runs(hostOfPod(pod)):
		return n.start(ctx, pod.DeepCopy())
	}
	return nil
}

func find[T any](in cache.Indexer, namespace, name string) T {
	o, _, _ := in.GetByKey(namespace + "/" + name)
	found, _ := o.(T)
	return found
}

// bind is what a provisioner does.
func (n *Nodes) bind(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes,
		Capacity: c.Spec.Resources.Requests}
	_, err := n.client.CoreV1().PersistentVolumeClaims(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{})
	return err
}

// observe and create are what the controller of StatefulSets does.
func (n *Nodes) observe(ctx context.Context, s *appsv1.StatefulSet) error {
	s.Status.ObservedGeneration, s.Status.Replicas = s.Generation, 1
	_, err := n.client.AppsV1().StatefulSets(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
	return err
}

func (n *Nodes) create(ctx context.Context, s *appsv1.StatefulSet) error {
	p := &corev1.Pod{ObjectMeta: *s.Spec.Template.ObjectMeta.DeepCopy(), Spec: *s.Spec.Template.Spec.DeepCopy()}
	p.Name, p.Namespace = v1alpha1.PodName(s.Name), s.Namespace
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s,
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	p.Spec.NodeName, p.Spec.Hostname, p.Spec.Subdomain = "node-1", p.Name, s.Spec.ServiceName
	_, err := n.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
	return err
}

// start is what a kubelet does.
func (n *Nodes) start(ctx context.Context, p *corev1.Pod) error {
	certificate, err := n.certificate(ctx, p)
	if err != nil {
		return err
	}
	c := p.Spec.Containers[0]
	_, version, _ := strings.Cut(c.Image, ":v")
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = strings.ReplaceAll(a, "$(POD_NAMESPACE)", p.Namespace)
	}
	n.databases.begin(hostOfPod(p), version, args, certificate)
	now, yes := metav1.Now(), true
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: n.server.address,
		PodIPs: []corev1.PodIP{{IP: n.server.address}}, HostIP: n.server.address, StartTime: &now,
		ContainerStatuses: []corev1.ContainerStatus{{Name: c.Name, Image: c.Image, Ready: true, Started: &yes,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady,
		corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue,
			LastTransitionTime: now})
	}
	_, err = n.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
	return err
}

// certificate is what the pod mounts.
func (n *Nodes) certificate(ctx context.Context, p *corev1.Pod) (*tls.Certificate, error) {
	for _, v := range p.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		s, err := n.client.CoreV1().Secrets(p.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		c, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
		if err != nil {
			return nil, fmt.Errorf("read the certificate of pod %s: %w", p.Name, err)
		}
		return &c, nil
	}
	return nil, fmt.Errorf("pod %s mounts no certificate", p.Name)
}

func hostOfPod(p *corev1.Pod) string {
	return v1alpha1.MemberHost(p.Labels[v1alpha1.LabelCluster], p.Namespace, p.Labels[v1alpha1.LabelMember])
}
