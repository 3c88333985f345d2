package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is between a command and the API server, with the identity of the
// site's kubeconfig, and passes everything on: streams and upgraded
// connections too. A storm makes it fail, a shift makes it lie about the time.
type Proxy struct {
	server  *http.Server
	address string
	pass    http.Handler

	mu    sync.Mutex
	storm *storm
	shift time.Duration
	told  map[Fault]int
}

// Proxy starts one on this machine; Close ends it.
func (s *Site) Proxy() (*Proxy, error) {
	return newProxy(s.Rest)
}

func newProxy(config *rest.Config) (*Proxy, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"} // port-forwards upgrade the connection, which HTTP/2 can't
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	p := &Proxy{told: map[Fault]int{}}
	p.pass = &httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: p.date,
		// An API server that is away appears through the proxy as it does without.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { reset(w) },
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	p.address = listener.Addr().String()
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ConnContext: withConnection}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() error {
	p.Calm()
	return p.server.Close()
}

// Kubeconfig writes one that leads through the proxy.
func (p *Proxy) Kubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: "http://" + p.address}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	config.CurrentContext = "proxy"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return nil
}

// Shift makes the API server's clock, as its answers tell it, run ahead.
func (p *Proxy) Shift(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shift = by
}

// Storm makes that share of all requests fail, in the ways given or else in
// all of them. The seed decides which and how.
func (p *Proxy) Storm(seed uint64, share float64, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.storm = newStorm(seed, share, faults)
}

// Calm ends the storm; what is held back is let go.
func (p *Proxy) Calm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.storm != nil {
		close(p.storm.over)
	}
	p.storm = nil
}

// Faults is how often each was inflicted so far.
func (p *Proxy) Faults() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.told)
}

// ServeHTTP passes a request on, or not.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fault, storm := p.draw(r)
	w.Header().Set("Date", p.now().UTC().Format(http.TimeFormat))
	if fault == "" {
		p.pass.ServeHTTP(w, r)
		return
	}
	storm.inflict(fault, p.pass, w, r)
}

// draw decides what becomes of a request.
func (p *Proxy) draw(r *http.Request) (Fault, *storm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.storm == nil {
		return "", nil
	}
	fault := p.storm.draw(r)
	if fault != "" {
		p.told[fault]++
	}
	return fault, p.storm
}

func (p *Proxy) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Add(p.shift)
}

// date makes an answer tell the proxy's time.
func (p *Proxy) date(r *http.Response) error {
	r.Header.Set("Date", p.now().UTC().Format(http.TimeFormat))
	return nil
}

// connectionKey is under which a request's context has its connection.
type connectionKey struct{}

func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// cut ends a request's connection as a network does that forgot it.
func cut(r *http.Request) {
	if c, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
		sever(c)
	}
}

// reset takes an answer's connection away before anything was said.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if errors.Is(err, http.ErrHijacked) {
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	sever(c)
}

// sever closes a connection without goodbye.
func sever(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
