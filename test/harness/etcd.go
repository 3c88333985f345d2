package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const (
	dialTimeout = 3 * time.Second
	keepAlive   = time.Second
	clientPort  = 2379
	// resync bounds how long a missed event leaves a wrong list of endpoints.
	resync = 5 * time.Second
)

// Etcd is an application's client of one cluster: it holds nothing but the
// client secret, and goes to the members that are ready, as the service would.
type Etcd struct {
	KV      *clientv3.Client
	site    *Site
	cluster string
	ns      string
	scheme  string
	tunnels *tunnels
	stop    chan struct{}
}

// DialEtcd connects to a cluster and follows its members until Close.
func (s *Site) DialEtcd(ctx context.Context, namespace, cluster string) (*Etcd, error) {
	e := &Etcd{site: s, cluster: cluster, ns: namespace, scheme: "https", stop: make(chan struct{})}
	if !s.Local {
		e.tunnels = newTunnels(s.Tool("kubectl", ""), namespace)
	}
	config, err := s.clientTLS(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if config == nil {
		e.scheme = "http"
	}
	pods, err := e.pods(ctx)
	if err != nil {
		return nil, err
	}
	first := e.endpoints(ctx, pods)
	if len(first) == 0 {
		return nil, fmt.Errorf("cluster %s/%s has no member that runs", namespace, cluster)
	}
	e.KV, err = clientv3.New(clientv3.Config{Endpoints: first, TLS: config, DialTimeout: dialTimeout,
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAlive, PermitWithoutStream: true, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("make a client of %s/%s: %w", namespace, cluster, err)
	}
	if err := e.follow(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close ends the client.
func (e *Etcd) Close() error {
	close(e.stop)
	err := e.KV.Close()
	if e.tunnels != nil {
		e.tunnels.close()
	}
	return err
}

// follow keeps the endpoints at the ready members.
func (e *Etcd) follow(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(e.site.Client, resync, informers.WithNamespace(e.ns),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = e.selector() }))
	pods := factory.Core().V1().Pods()
	changed := func() {
		var all []corev1.Pod
		for _, o := range pods.Informer().GetStore().List() {
			if p, ok := o.(*corev1.Pod); ok {
				all = append(all, *p)
			}
		}
		if list := e.endpoints(context.Background(), all); len(list) > 0 && !slices.Equal(list, e.KV.Endpoints()) {
			e.KV.SetEndpoints(list...)
		}
	}
	_, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return fmt.Errorf("follow the members of %s/%s: %w", e.ns, e.cluster, err)
	}
	factory.Start(e.stop)
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return fmt.Errorf("follow the members of %s/%s: %w", e.ns, e.cluster, ctx.Err())
	}
	return nil
}

func (e *Etcd) selector() string {
	return v1alpha1.LabelCluster + "=" + e.cluster + ",app.kubernetes.io/component=database"
}

func (e *Etcd) pods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := e.site.Client.CoreV1().Pods(e.ns).List(ctx, metav1.ListOptions{LabelSelector: e.selector()})
	if err != nil {
		return nil, fmt.Errorf("list the members of %s/%s: %w", e.ns, e.cluster, err)
	}
	return list.Items, nil
}

// endpoints are the addresses of the ready pods; of all that run if none is ready.
func (e *Etcd) endpoints(ctx context.Context, pods []corev1.Pod) []string {
	var up, running []string
	for _, p := range pods {
		if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" || p.DeletionTimestamp != nil {
			continue
		}
		address := fmt.Sprintf("%s:%d", p.Status.PodIP, clientPort)
		if e.tunnels != nil {
			var err error
			if address, err = e.tunnels.address(ctx, p.Name, string(p.UID)); err != nil {
				continue
			}
		}
		running = append(running, e.scheme+"://"+address)
		if ready(&p) {
			up = append(up, e.scheme+"://"+address)
		}
	}
	if len(up) == 0 {
		up = running
	}
	slices.Sort(up)
	return up
}

// clientTLS is what an application gets: the client secret. nil for a cluster
// without TLS.
func (s *Site) clientTLS(ctx context.Context, namespace, cluster string) (*tls.Config, error) {
	files, err := s.ClientFiles(ctx, namespace, cluster)
	if err != nil || files == nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("read the client certificate of %s/%s: %w", namespace, cluster, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files["ca.crt"]) {
		return nil, fmt.Errorf("the client secret of %s/%s holds no CA certificate", namespace, cluster)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12, ServerName: serverName}, nil
}

// serverName is in every member's certificate; the addresses of pods are not.
const serverName = "localhost"

// ClientFiles are tls.crt, tls.key and ca.crt of the client secret; nil for a
// cluster without TLS.
func (s *Site) ClientFiles(ctx context.Context, namespace, cluster string) (map[string][]byte, error) {
	list, err := s.Client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + v1alpha1.ClientSecret(cluster)})
	if err != nil {
		return nil, fmt.Errorf("read the client secret of %s/%s: %w", namespace, cluster, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return list.Items[0].Data, nil
}

// Endpoints are the members' client addresses as seen from here.
func (e *Etcd) Endpoints() []string { return e.KV.Endpoints() }
