// Package operator is the second driver of package ops: where the command
// line runs an operation to its end, a reconciler takes one step of it at a
// time. It translates a custom resource into a question, and the answer into
// a status; it decides nothing.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/portforward"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// HeartbeatLease is the lease that says which replica of an operator is alive.
const HeartbeatLease = "kubectl-dbop-operator"

// The leader's lease and those of clusters are short enough that who takes
// over from a killed leader acts within 20 s: one of each has to expire.
const (
	leaderDuration  = 8 * time.Second
	leaderRenewal   = 6 * time.Second
	leaderRetry     = time.Second
	clusterDuration = 6 * time.Second
	pollEvery       = 250 * time.Millisecond
)

// Config is all that an operator takes from the outside.
type Config struct {
	Rest    *rest.Config
	Engines []engine.Engine
	// Tool is this tool's version, HelperImage the image of its helper pods.
	Tool, HelperImage string
	// Namespace is where the operator itself is; Watched are the namespaces that
	// it manages, all for none.
	Namespace string
	Watched   []string
	// Elect lets one of several replicas act.
	Elect bool
	// ClusterIssuers lets custom resources name issuers that are not of their namespace.
	ClusterIssuers bool
	// MetricsAddress and HealthAddress are what it listens on; "0" for nothing.
	MetricsAddress, HealthAddress string
	// Workers is how many clusters are worked on at once.
	Workers int
	// Log takes one JSON object a line.
	Log io.Writer
	// FailPoint, see ops.Loop.
	FailPoint func(when string, step ops.Step)
}

// sweepAt is by how many per cent the heap may grow before it is swept. An
// operator is idle nearly always: memory is worth more than a little work.
const sweepAt = 50

// Run operates clusters until ctx ends.
func Run(ctx context.Context, c Config) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(sweepAt)
	}
	memory := memoryLimit(memoryFiles())
	heed(memory)
	log := logr.FromSlogHandler(slog.NewJSONHandler(c.Log, nil))
	ctrllog.SetLogger(log)
	klog.SetLogger(log)
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	config := rest.CopyConfig(c.Rest)
	config.QPS = -1 // the server has priority and fairness
	m, err := manager.New(config, manager.Options{
		Scheme: scheme, Logger: log, Cache: cacheOptions(c.Watched),
		LeaderElection: c.Elect, LeaderElectionID: HeartbeatLease, LeaderElectionNamespace: c.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaderDuration), RenewDeadline: new(leaderRenewal),
		RetryPeriod: new(leaderRetry),
		Metrics:     metricsserver.Options{BindAddress: c.MetricsAddress}, HealthProbeBindAddress: c.HealthAddress,
	})
	if err != nil {
		return fmt.Errorf("start the operator: %w", err)
	}
	if err := errors.Join(m.AddHealthzCheck("alive", alive),
		m.AddReadyzCheck("caches", synced(m.GetCache()))); err != nil {
		return fmt.Errorf("serve health: %w", err)
	}
	own, err := kube.New(config, kube.Options{UserAgent: config.UserAgent,
		Behalf: kube.Behalf{Limited: true, ClusterIssuers: c.ClusterIssuers}})
	if err != nil {
		return err
	}
	own.Behalf.Record = store.NewConfigMaps(own).GetCluster
	gauges := newGauges()
	if err := gauges.register(metrics.Registry); err != nil {
		return err
	}
	served, err := newServed(config, m.GetHTTPClient())
	if err != nil {
		return err
	}
	r := &Reconciler{
		Custom: m.GetClient(), Fresh: m.GetAPIReader(), Store: store.NewConfigMaps(own),
		Events: m.GetEventRecorder("kubectl-dbop"),
		Kept: func(ctx context.Context, namespace string, name string) (store.Kept, error) {
			return store.FindKept(ctx, own, namespace, name)
		}, Engines: c.Engines, Definition: newDefinition(m.GetAPIReader()), Operator: c.Namespace + "/" + HeartbeatLease,
		HelperImage: c.HelperImage, gauges: gauges,
		Runner: func(e engine.Engine, wanted *v1alpha1.DatabaseCluster, reporter ops.Reporter) *runner.Runner {
			live := executor.Config{Client: own, Store: store.NewConfigMaps(own),
				Dialer: dial.NewDialer(own, portforward.New(own)), Engine: e,
				Wanted: wanted, Tool: c.Tool, HelperImage: c.HelperImage, NoDirectories: true}
			return &runner.Runner{Engine: e, Store: live.Store, Reporter: reporter, Poll: pollEvery, FailPoint: c.FailPoint,
				Cluster: func(namespace, cluster string) ops.ClosableCluster {
					this := live
					this.Namespace, this.Name = namespace, cluster
					return executor.New(this)
				},
				Lock: func(ctx context.Context, namespace, cluster string, scope lease.Scope,
					waiting func(string, time.Duration)) (lease.Lease, error) {
					return lease.Acquire(ctx, own, namespace, cluster, scope,
						lease.Options{Duration: clusterDuration, Identity: "operator@" + c.Namespace, Waiting: waiting})
				}}
		},
	}
	namespaces := c.Watched
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	r.returned = &returned{served: served, api: m.GetAPIReader(), namespaces: namespaces,
		wake: make(chan event.GenericEvent)}
	r.offered = &offered{api: m.GetAPIReader(), namespaces: namespaces}
	if err := errors.Join(m.Add(r.returned), r.setup(m, fitting(memory, c.Workers)), m.Add(r.offered)); err != nil {
		return err
	}
	log.Info("operating", "version", c.Tool, "namespaces", c.Watched)
	err = m.Start(ctx)
	r.closeAll(ctx)
	if err != nil {
		return fmt.Errorf("the operator ended: %w", err)
	}
	return nil
}

func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		return nil, fmt.Errorf("register API types: %w", err)
	}
	return s, nil
}

// watchedKinds are the kinds of which a change makes a cluster worth an observation.
// Their metadata alone is kept.
func watchedKinds() []*metav1.PartialObjectMetadata {
	var out []*metav1.PartialObjectMetadata
	for _, gvk := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		{Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "batch", Version: "v1", Kind: "CronJob"},
		corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	} {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		out = append(out, o)
	}
	return out
}

// cacheOptions keep in memory what bears our label, without what is long.
func cacheOptions(namespaces []string) cache.Options {
	o := cache.Options{ByObject: map[client.Object]cache.ByObject{},
		DefaultTransform: cache.TransformStripManagedFields()}
	ours, err := labels.NewRequirement(v1alpha1.LabelCluster, "exists", nil)
	if err == nil { // a constant that fits
		for _, kind := range watchedKinds() {
			o.ByObject[kind] = cache.ByObject{Label: labels.NewSelector().Add(*ours), Transform: onlyWhose}
		}
	}
	if len(namespaces) > 0 {
		o.DefaultNamespaces = map[string]cache.Config{}
		for _, n := range namespaces {
			o.DefaultNamespaces[n] = cache.Config{}
		}
	}
	return o
}

// onlyWhose keeps of an object that only wakes somebody whose it is. There are
// a dozen for each cluster.
func onlyWhose(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: map[string]string{v1alpha1.LabelCluster: m.Labels[v1alpha1.LabelCluster]}}
	return m, nil
}

func alive(*http.Request) error { return nil }

var errNotSynced = errors.New("the caches are not filled yet")

// synced is ready once everything was listed.
func synced(c cache.Cache) func(*http.Request) error {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errNotSynced
		}
		return nil
	}
}
