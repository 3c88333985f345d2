package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// counter is between a command and the API server, with the identity of
// the cluster's kubeconfig, and notes every request.
type counter struct {
	server   *http.Server
	address  string
	mu       sync.Mutex
	requests []string
}

func newCounter(config *rest.Config) (*counter, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // streams are upgraded, which HTTP/2 can't
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	c.server = &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			c.requests = append(c.requests, r.Method+" "+r.URL.RequestURI())
			c.mu.Unlock()
			proxy.ServeHTTP(w, r)
		})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	c.address = listener.Addr().String()
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// take returns the requests since the last call.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

// through is the tool with a kubeconfig that leads to the counter.
func (c *counter) through(b *bench) (harness.Command, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{Server: "http://" + c.address}
	config.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench"}
	config.CurrentContext = "bench"
	path := filepath.Join(b.home, "counted.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return harness.Command{}, fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return b.site.CLI(b.home, map[string]string{"KUBECONFIG": path}), nil
}

// measureRequests counts what one status asks of the API server.
func measureRequests(ctx context.Context, b *bench) error {
	return b.inNamespace(ctx, func(ns string) (err error) {
		if _, err := b.dbop(ctx, "create", "ask", "--engine", "etcd", "--members", "3", "-n", ns); err != nil {
			return err
		}
		c, err := newCounter(b.site.Rest)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.server.Close()) }()
		cli, err := c.through(b)
		if err != nil {
			return err
		}
		var counts samples
		for range b.repeats {
			if _, err := succeed(ctx, cli, "status", "ask", "-n", ns); err != nil {
				return err
			}
			all := c.take()
			counts = append(counts, float64(len(all)))
			if len(counts) == 1 {
				for _, r := range all {
					fmt.Println("  ", r)
				}
			}
		}
		b.rows.judged("API requests of one status of 3 members", counts.median(), "requests", 12, counts.spread("requests"))
		return nil
	})
}
