package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
	"github.com/dbop-dev/kubectl-dbop/test/port"
)

// Series of etcd that the tests run real members of.
const (
	series35 = "3.5"
	series36 = "3.6"
	series37 = "3.7"
)

var allSeries = []string{series35, series36, series37}

// program finds a real program, or skips the test.
func program(t *testing.T, series, name string) string {
	t.Helper()
	dir := os.Getenv("DBOP_ETCD_BIN")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Skipf("no etcd to test with: %v", err)
		}
		dir = filepath.Join(home, ".cache", "dbop-cluster", "bin")
	}
	path := filepath.Join(dir, "etcd-"+series, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s %s to test with: set DBOP_ETCD_BIN to a directory with etcd-%s/%s (%v)", name, series, series, name,
			err)
	}
	return path
}

// versionOf is the full version of the binary.
func versionOf(t *testing.T, series string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t, series, "etcd"), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), "etcd Version: ")
	v, _, _ := strings.Cut(rest, "\n")
	return v
}

// fleet is a cluster of real members on loopback, started with the arguments
// that a pod would have.
type fleet struct {
	t       *testing.T
	cluster *v1alpha1.DatabaseCluster
	dir     string
	issuer  *issuer
	hosts   []string
	tls     *tls.Config
	// passwords, if set, are what the session logs in with.
	passwords func(context.Context) ([]engine.Credentials, error)
	members   map[string]*process
	session   *client.Session
}

// process is one member: its ports stay when it restarts.
type process struct {
	peer, client, metrics int
	data                  string
	cmd                   *exec.Cmd
	done                  chan struct{}
}

// newFleet prepares size members without starting any.
func newFleet(t *testing.T, name string, size int, changes ...func(*fleet)) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir(), members: map[string]*process{}, cluster: &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       v1alpha1.DatabaseClusterSpec{Engine: Name, Members: int32(size)},
		Status:     v1alpha1.DatabaseClusterStatus{Bootstrap: &v1alpha1.Bootstrap{Token: name + "-token"}},
	}}
	var hosts []string
	for n := 1; n <= size; n++ {
		member := v1alpha1.MemberName(name, n)
		hosts = append(hosts, addresses.Host(f.cluster, member))
		f.members[member] = &process{
			peer: port.Free(t), client: port.Free(t), metrics: port.Free(t), data: filepath.Join(f.dir, member),
		}
	}
	hosts = append(hosts, v1alpha1.ClientHost(f.cluster.Name, f.cluster.Namespace))
	f.hosts = hosts
	f.issuer = issue(t, f.dir, hosts)
	f.tls = f.issuer.client("root")
	for _, change := range changes {
		change(f)
	}
	f.session = client.New(f.access(), addresses.Addresses{
		Host: func(member string) string { return addresses.Host(f.cluster, member) },
		PeerURL: func(member string) string {
			return fmt.Sprintf("%s://127.0.0.1:%d", addresses.Scheme(f.cluster), f.members[member].peer)
		},
		Member: f.memberAt,
	})
	t.Cleanup(func() {
		if err := f.session.Close(); err != nil {
			t.Errorf("close the session: %v", err)
		}
		for member := range f.members {
			f.kill(member)
		}
		if t.Failed() {
			f.dump()
		}
	})
	return f
}

func (f *fleet) access() engine.Access {
	return engine.Access{
		Cluster: f.cluster, TLS: f.tls, Credentials: f.passwords,
		Dial: func(ctx context.Context, pod string, port int) (net.Conn, error) {
			p, ok := f.members[strings.TrimSuffix(pod, "-0")]
			if !ok || port != addresses.ClientPort {
				return nil, fmt.Errorf("no pod %s with port %d", pod, port)
			}
			return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.client)))
		},
	}
}

func (f *fleet) memberAt(peerURL string) string {
	for member, p := range f.members {
		if strings.HasSuffix(peerURL, ":"+strconv.Itoa(p.peer)) {
			return member
		}
	}
	return ""
}

func (f *fleet) name(n int) string { return v1alpha1.MemberName(f.cluster.Name, n) }

func (f *fleet) names() []string {
	var out []string
	for n := range len(f.members) {
		out = append(out, f.name(n+1))
	}
	return out
}

// start runs a member of a series with the rendered arguments, moved to loopback.
func (f *fleet) start(series, member string, bootstrap bool, peers ...string) {
	f.t.Helper()
	rendered, err := New().Pod(engine.PodInput{
		Cluster: f.cluster, Member: member, Image: "x", Version: versionOf(f.t, series), Bootstrap: bootstrap, Peers: peers,
		JoinLimit: New().InitialJoinLimit(versionOf(f.t, series)),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.run(series, member, f.local(member, rendered.Container.Args)...)
}

// local replaces what only exists in a pod.
func (f *fleet) local(member string, args []string) []string {
	p := f.members[member]
	pairs := []string{
		fmt.Sprintf("0.0.0.0:%d", addresses.PeerPort), fmt.Sprintf("127.0.0.1:%d", p.peer),
		fmt.Sprintf("0.0.0.0:%d", addresses.ClientPort), fmt.Sprintf("127.0.0.1:%d", p.client),
		fmt.Sprintf("0.0.0.0:%d", addresses.MetricsPort), fmt.Sprintf("127.0.0.1:%d", p.metrics),
		pod.DataDir, p.data, pod.TLSPath, f.dir,
	}
	for name, other := range f.members {
		pairs = append(pairs, addresses.PeerURL(f.cluster, name),
			fmt.Sprintf("%s://127.0.0.1:%d", addresses.Scheme(f.cluster), other.peer),
			addresses.ClientURL(f.cluster, name), fmt.Sprintf("%s://127.0.0.1:%d", addresses.Scheme(f.cluster), other.client))
	}
	replacer := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = replacer.Replace(strings.ReplaceAll(arg, "$("+pod.NamespaceVariable+")", f.cluster.Namespace))
	}
	return out
}

func (f *fleet) run(series, member string, args ...string) {
	f.t.Helper()
	p := f.members[member]
	logs, err := os.OpenFile(p.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	// Not for safety here: the tests don't lose power, and fsync is most of their time.
	p.cmd = exec.Command(program(f.t, series, "etcd"), append(args, "--unsafe-no-fsync=true")...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = []string{}, logs, logs
	if err := p.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(p.cmd, p.done)
}

// kill ends a member without warning.
func (f *fleet) kill(member string) {
	p := f.members[member]
	if p.cmd == nil {
		return
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		f.t.Errorf("kill %s: %v", member, err)
	}
	<-p.done
	p.cmd = nil
}

func (f *fleet) dump() {
	for member, p := range f.members {
		logs, err := os.ReadFile(p.data + ".log")
		if err != nil {
			continue
		}
		f.t.Logf("last words of %s:\n%s", member, logs[max(0, len(logs)-2000):])
	}
}

// form starts the members as one new cluster and waits until all are healthy.
func (f *fleet) form(series string, members ...string) {
	f.t.Helper()
	for _, member := range members {
		f.start(series, member, true, members...)
	}
	f.healthy(members...)
}

// healthy waits until the members are.
func (f *fleet) healthy(members ...string) engine.View {
	f.t.Helper()
	var v engine.View
	f.eventually("all healthy", func() error {
		v = f.session.Observe(f.t.Context(), members)
		for _, member := range members {
			if err := health(v, member); err != nil {
				return err
			}
		}
		return nil
	})
	return v
}

// eventually repeats until there is no error.
func (f *fleet) eventually(what string, do func() error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 40*time.Second)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			f.t.Fatalf("%s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// whenReady repeats while etcd asks to wait.
func (f *fleet) whenReady(what string, do func() error) {
	f.t.Helper()
	f.eventually(what, func() error {
		err := do()
		if err != nil && !errors.Is(err, engine.ErrNotReady) {
			f.t.Fatalf("%s: %v", what, err)
		}
		return err
	})
}
