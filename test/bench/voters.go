package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// lookEvery is the pause between two questions to etcd.
	lookEvery = 50 * time.Millisecond
	// answerWithin bounds one question.
	answerWithin = time.Second
	// healthyWithin bounds the wait for healthy voters.
	healthyWithin = time.Minute
)

// quorum is a set of pods that should be an etcd cluster, whatever made it.
type quorum struct {
	site      *harness.Site
	namespace string
	selector  string
	service   string
	// secured is the name of the dbop cluster that serves TLS; empty for plain text.
	secured string
	files   map[string][]byte
	clients map[string]*clientv3.Client
}

// healthy returns when etcd itself says that there are n healthy voters and
// nothing besides: every pod answers a member list, a status and a
// linearizable read by itself.
func (q *quorum) healthy(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
	q.clients = map[string]*clientv3.Client{}
	defer func() {
		for _, c := range q.clients {
			_ = c.Close()
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		err := q.look(ctx, n)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %d healthy voters: %w", n, err)
		}
	}
}

func (q *quorum) look(ctx context.Context, n int) error {
	pods, err := q.site.Client.CoreV1().Pods(q.namespace).List(ctx, metav1.ListOptions{LabelSelector: q.selector})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	if len(pods.Items) != n {
		return fmt.Errorf("there are %d pods", len(pods.Items))
	}
	if q.secured != "" && q.files == nil {
		if q.files, err = q.site.ClientFiles(ctx, q.namespace, q.secured); err != nil || q.files == nil {
			return errors.Join(errors.New("there is no client secret yet"), err)
		}
	}
	for _, p := range pods.Items {
		if p.Status.PodIP == "" || p.DeletionTimestamp != nil {
			return fmt.Errorf("pod %s does not run", p.Name)
		}
		if err := q.ask(ctx, &p, n); err != nil {
			if c := q.clients[p.Status.PodIP]; c != nil {
				_ = c.Close() // a new connection does not wait out a backoff
				delete(q.clients, p.Status.PodIP)
			}
			return fmt.Errorf("ask pod %s: %w", p.Name, err)
		}
	}
	return nil
}

// ask asks one member by itself.
func (q *quorum) ask(ctx context.Context, p *corev1.Pod, n int) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	client, err := q.client(p)
	if err != nil {
		return err
	}
	list, err := client.MemberList(ctx)
	if err != nil {
		return err
	}
	voters := 0
	for _, m := range list.Members {
		if !m.IsLearner && m.Name != "" {
			voters++
		}
	}
	if voters != n || len(list.Members) != n {
		return fmt.Errorf("it lists %d voters of %d members", voters, len(list.Members))
	}
	status, err := client.Status(ctx, client.Endpoints()[0])
	if err != nil {
		return err
	}
	if status.Leader == 0 || len(status.Errors) > 0 {
		return fmt.Errorf("it has leader %x and errors %v", status.Leader, status.Errors)
	}
	_, err = client.Get(ctx, "bench")
	return err
}

func (q *quorum) client(p *corev1.Pod) (*clientv3.Client, error) {
	if c := q.clients[p.Status.PodIP]; c != nil {
		return c, nil
	}
	// By its name, which is in its certificate, but straight to its address.
	address := net.JoinHostPort(p.Status.PodIP, clientPort)
	name := net.JoinHostPort(fmt.Sprintf("%s.%s.%s.svc", p.Name, q.service, q.namespace), clientPort)
	config := clientv3.Config{Endpoints: []string{"http://" + name}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		})}}
	if q.secured != "" {
		pair, err := tls.X509KeyPair(q.files["tls.crt"], q.files["tls.key"])
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(q.files["ca.crt"]) {
			return nil, errors.New("the client secret holds no CA certificate")
		}
		config.Endpoints = []string{"https://" + name}
		config.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	q.clients[p.Status.PodIP] = c
	return c, nil
}

// voters are the members of a cluster that the tool made.
func (b *bench) voters(namespace, cluster string) *quorum {
	return &quorum{site: b.site, namespace: namespace, service: cluster, secured: cluster,
		selector: "dbop.dev/cluster=" + cluster + ",app.kubernetes.io/component=database"}
}
