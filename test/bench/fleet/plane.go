// Package fleet is a Kubernetes with thousands of databases on one machine: a
// real API server with an etcd of its own, and below it simulated nodes and
// simulated members of etcd, which speak etcd's protocol over TLS. The
// operator above it is the real binary and notices no difference.
package fleet

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// serveWithin is how long the API server may take to come up.
	serveWithin = 90 * time.Second
	// endWithin is how long a process may take to end.
	endWithin = 20 * time.Second
	loopback  = "127.0.0.1"
)

// Plane is an API server and its etcd, in a directory of their own.
type Plane struct {
	// Config is the administrator's.
	Config *rest.Config
	Client kubernetes.Interface

	dir       string
	processes []*exec.Cmd
}

// audit counts the requests of service accounts: operators are the only ones here.
const audit = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    userGroups: ["system:serviceaccounts"]
  - level: None
`

// Start starts both in dir; components is the program of hack/cluster that is
// all of Kubernetes.
func Start(ctx context.Context, dir, components string) (*Plane, error) {
	p := &Plane{dir: dir}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails, see crypto/rand
	token := hex.EncodeToString(secret)
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	if err := p.write(token); err != nil {
		return nil, err
	}
	store, peer := "http://"+net.JoinHostPort(loopback, ports[0]), "http://"+net.JoinHostPort(loopback, ports[1])
	err = errors.Join(
		p.run("etcd", components, "etcd", "--name=fleet", "--data-dir="+p.at("etcd"), "--unsafe-no-fsync",
			"--log-level=warn",
			"--quota-backend-bytes=8589934592", "--listen-client-urls="+store, "--advertise-client-urls="+store,
			"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=fleet="+peer),
		p.run("kube-apiserver", components, "kube-apiserver", "--bind-address="+loopback, "--secure-port="+ports[2],
			"--cert-dir="+p.at("tls"),
			"--etcd-servers="+store, "--token-auth-file="+p.at("tokens.csv"), "--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+p.at("sa.key"),
			"--service-account-signing-key-file="+p.at("sa.key"), "--service-cluster-ip-range=10.64.0.0/12",
			// Who would make the accounts of pods is not there.
			"--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
			"--audit-policy-file="+p.at("audit.yaml"), "--audit-log-path="+p.AuditLog(), "--audit-log-maxsize=100000"),
	)
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	p.Config = &rest.Config{Host: "https://" + net.JoinHostPort(loopback, ports[2]), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: p.authority()}}
	if err := p.await(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plane) at(name string) string { return filepath.Join(p.dir, name) }

// authority signed the API server's certificate, which it makes by itself.
func (p *Plane) authority() string { return filepath.Join(p.at("tls"), "apiserver.crt") }

// AuditLog is where the API server writes down who asked what.
func (p *Plane) AuditLog() string { return p.at("audit.log") }

func (p *Plane) write(token string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make a key for tokens: %w", err)
	}
	for name, content := range map[string][]byte{
		"audit.yaml": []byte(audit),
		"tokens.csv": []byte(token + `,fleet,fleet,"system:masters"` + "\n"),
		"sa.key":     pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	} {
		if err := os.WriteFile(p.at(name), content, 0o600); err != nil {
			return fmt.Errorf("prepare the API server: %w", err)
		}
	}
	return nil
}

// run starts a process that ends with this one.
func (p *Plane) run(name, path string, args ...string) error {
	log, err := os.Create(p.at(name + ".log"))
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd := exec.Command(path, args...) // #nosec G204 -- what hack/cluster built
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s, see bin/cluster build components: %w", name, err)
	}
	p.processes = append(p.processes, cmd)
	return nil
}

func (p *Plane) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server does not serve, see %s: %w", p.at("kube-apiserver.log"), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (p *Plane) ready(ctx context.Context) error {
	if p.Client == nil {
		client, err := kubernetes.NewForConfig(p.Config)
		if err != nil {
			return fmt.Errorf("make a client: %w", err) // its certificate is not there yet
		}
		p.Client = client
	}
	return p.Client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// Stop ends both processes, the API server first.
func (p *Plane) Stop() error {
	var all []error
	for _, cmd := range slices.Backward(p.processes) {
		all = append(all, end(cmd, syscall.SIGTERM))
	}
	p.processes = nil
	return errors.Join(all...)
}

// end signals a process and waits for it; one that does not go is killed.
func end(cmd *exec.Cmd, s syscall.Signal) error {
	_ = cmd.Process.Signal(s) // it may have ended
	timer := time.AfterFunc(endWithin, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("end %s: %w", cmd.Path, err)
	}
	return nil
}

// freePorts are ports that nobody listens on.
func freePorts(n int) ([]string, error) {
	var out []string
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = l.Close() }()
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			out = append(out, strconv.Itoa(a.Port))
		}
	}
	return out, nil
}
