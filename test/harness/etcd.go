package harness

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

const (
	dialTimeout = 3 * time.Second
	// loginTimeout of a login by password, which is work for a member.
	loginTimeout = 30 * time.Second
	keepAlive    = time.Second
	clientPort   = "2379"
	// resync bounds how long a missed event leaves a wrong list of endpoints.
	resync = 5 * time.Second
)

// Etcd is an application's client of one cluster: it holds nothing but the
// client secret, and goes to the members that are ready, as the service would.
type Etcd struct {
	KV *clientv3.Client
	// Limit is when a write gives up one try, if not after a second: a login by
	// password alone takes a busy member that long.
	Limit time.Duration

	site    *Site
	cluster string
	ns      string
	scheme  string
	tunnels *tunnels
	stop    chan struct{}
	mu      sync.Mutex
	// at is where each member is at the moment: its name stays, its pod moves.
	at map[string]string
}

// DialEtcd connects to a cluster and follows its members until Close. Without
// TLS it logs in as the applications' user, where there is one.
func (s *Site) DialEtcd(ctx context.Context, namespace, cluster string) (*Etcd, error) {
	return s.DialEtcdAs(ctx, namespace, cluster, "")
}

// DialEtcdAs connects as a user, by the password that its secret holds now.
func (s *Site) DialEtcdAs(ctx context.Context, namespace, cluster, user string) (*Etcd, error) {
	e := &Etcd{site: s, cluster: cluster, ns: namespace, scheme: "https", stop: make(chan struct{}),
		at: map[string]string{}}
	if !s.Local {
		e.tunnels = newTunnels(s.Tool("kubectl", ""), namespace, clientPort)
	}
	config, err := s.clientTLS(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if config == nil {
		e.scheme, user = "http", cmp.Or(user, v1alpha1.ApplicationUser)
	}
	name, password, err := s.password(ctx, namespace, cluster, user)
	if err != nil {
		return nil, err
	}
	pods, err := e.pods(ctx)
	if err != nil {
		return nil, err
	}
	first := e.endpoints(ctx, pods)
	if len(first) == 0 {
		return nil, fmt.Errorf("cluster %s/%s has no member that runs", namespace, cluster)
	}
	within := dialTimeout
	if password != "" {
		within = loginTimeout
	}
	e.KV, err = clientv3.New(clientv3.Config{Endpoints: first, TLS: config, Username: name, Password: password,
		DialTimeout:       within,
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAlive, PermitWithoutStream: true, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(e.dial)}})
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

// endpoints are the names of the members whose pods are ready; of all that run
// if none is ready. It notes where they are.
func (e *Etcd) endpoints(ctx context.Context, pods []corev1.Pod) []string {
	var up, running []string
	for _, p := range pods {
		if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" || p.DeletionTimestamp != nil {
			continue
		}
		address := net.JoinHostPort(p.Status.PodIP, clientPort)
		if e.tunnels != nil {
			var err error
			if address, err = e.tunnels.address(ctx, p.Name, string(p.UID)); err != nil {
				continue
			}
		}
		name := net.JoinHostPort(v1alpha1.MemberHost(e.cluster, e.ns, p.Labels[v1alpha1.LabelMember]), clientPort)
		e.mu.Lock()
		e.at[name] = address
		e.mu.Unlock()
		running = append(running, e.scheme+"://"+name)
		if ready(&p) {
			up = append(up, e.scheme+"://"+name)
		}
	}
	if len(up) == 0 {
		up = running
	}
	slices.Sort(up)
	return up
}

// dial connects to a member by its name, which is also in its certificate.
func (e *Etcd) dial(ctx context.Context, name string) (net.Conn, error) {
	e.mu.Lock()
	address := e.at[name]
	e.mu.Unlock()
	if address == "" {
		return nil, fmt.Errorf("nobody knows where %s is", name)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
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
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// password reads what a user logs in with, nothing if there is no such secret.
func (s *Site) password(ctx context.Context, namespace, cluster, user string) (name, password string, err error) {
	if user == "" {
		return "", "", nil
	}
	list, err := s.Client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" +
		v1alpha1.PasswordSecret(cluster, user)})
	if err != nil {
		return "", "", fmt.Errorf("read the password of %s of %s/%s: %w", user, namespace, cluster, err)
	}
	if len(list.Items) == 0 {
		return "", "", nil
	}
	data := list.Items[0].Data
	return string(data[corev1.BasicAuthUsernameKey]), string(data[corev1.BasicAuthPasswordKey]), nil
}

// ClientFiles are tls.crt, tls.key and ca.crt of the client secret; nil for a
// cluster without TLS.
func (s *Site) ClientFiles(ctx context.Context, namespace, cluster string) (map[string][]byte, error) {
	list, err := s.Client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" +
		v1alpha1.ClientSecret(cluster)})
	if err != nil {
		return nil, fmt.Errorf("read the client secret of %s/%s: %w", namespace, cluster, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return list.Items[0].Data, nil
}

// Addresses are where the members' client ports are at the moment, as seen from here.
func (e *Etcd) Addresses() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, endpoint := range e.KV.Endpoints() {
		if a := e.at[strings.TrimPrefix(endpoint, e.scheme+"://")]; a != "" {
			out = append(out, a)
		}
	}
	return out
}
