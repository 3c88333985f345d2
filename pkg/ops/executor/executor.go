package executor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Config is what the world of a real cluster is made of.
type Config struct {
	Client *kube.Client
	Store  store.Store
	Dialer *dial.Dialer
	Engine engine.Engine
	// Namespace and Name of the cluster.
	Namespace, Name string
	// Wanted is the cluster that is to be, to read what does not exist yet.
	Wanted *v1alpha1.DatabaseCluster
	// Tool is this tool's version, kept in templates and manifests.
	Tool string
	// HelperImage runs the tool's own pods where the cluster does not name one.
	HelperImage string
	// Mounted are the repositories whose claims are mounted into this very pod,
	// by URL, as directories.
	Mounted map[string]string
	// Claims and NoDirectories, see opener.Repositories.
	Claims        *opener.Claims
	NoDirectories bool
	// ReadOnly refuses every change of a database: the dry run.
	ReadOnly bool
	// LastLine reads the end of a container's log; nil for kube.Client's.
	LastLine func(ctx context.Context, pod, container string) (string, error)
}

// Executor is the World of a cluster on a real Kubernetes. It keeps one session
// to the database and forgets it when the cluster's incarnation changes.
type Executor struct {
	Config

	mu      sync.Mutex
	session engine.Session
	token   string
	// admin is the certificate that the session uses; nil in plain text.
	admin *pki.Certificate
	// certificates says that operations ask for all of them, followsExpiry that
	// they do as soon as one is met that ran out.
	certificates, followsExpiry bool
	// secrets are those that were read last, and read is when.
	secrets *pki.Secrets
	read    time.Time
	// schedules says that operations ask for all that takes backups unasked.
	schedules bool
	// whole says that all that may be read is read.
	whole bool
	// logins says that the passwords in secrets are to be tried.
	logins bool
	// allowed says that members that may not be asked hide nothing else, denied why a dial was refused.
	allowed bool
	denied  atomic.Pointer[kube.ForbiddenError]
	// seen is where pods were when they were observed last, by name.
	seen   atomic.Pointer[map[string]string]
	watch  func() <-chan struct{}
	heard  said
	cancel context.CancelFunc
}

var _ ops.ClosableCluster = (*Executor)(nil)

// New makes the world of one cluster; it dials nothing yet.
func New(c Config) *Executor {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Executor{Config: c, cancel: cancel}
	// A single observation needs no watch.
	l.watch = sync.OnceValue(func() <-chan struct{} { return observe.Watch(ctx, c.Client, c.Namespace, c.Name) })
	return l
}

// Holding has a world ask for the lease right before every request that
// deletes: a step may make many, and a process can stop between two.
func Holding(w ops.Cluster, lease lease.Lease) {
	if l, ok := w.(*Executor); ok {
		l.Client = l.Client.CheckBeforeDelete(lease.Check)
	}
}

// Changed implements World.
func (l *Executor) Changed() <-chan struct{} { return l.watch() }

// Save implements World.
func (l *Executor) Save(ctx context.Context, op *v1alpha1.Operation) error {
	return ops.SaveRecord(ctx, l.Store, op)
}

// Close ends watches and connections.
func (l *Executor) Close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		return nil
	}
	return l.session.Close()
}

// Observe implements World: what Kubernetes has, then what each running member says.
func (l *Executor) Observe(ctx context.Context) (ops.State, error) {
	s := ops.State{}
	c, err := l.Store.GetCluster(ctx, l.Namespace, l.Name)
	switch {
	case err == nil:
		s.Cluster = c
	case errors.Is(err, kube.ErrNotFound), ops.NoRecord(err) && l.Wanted != nil:
		c = l.Wanted
	default:
		return s, fmt.Errorf("read cluster %s: %w", l.Name, err)
	}
	if c == nil {
		s.Now = l.Client.Now()
		return s, nil
	}
	if s.Kube, err = observe.Read(ctx, l.Client, c, l.made(ctx, c)); err != nil {
		return s, fmt.Errorf("observe what exists for cluster %s: %w", l.Name, err)
	}
	l.remember(s.Kube)
	if err := l.certificateFacts(ctx, &s, c); err != nil {
		return s, err
	}
	if err := l.scheduleFacts(ctx, &s, c); err != nil {
		return s, err
	}
	s.Now = l.Client.Now()
	if s.Cluster != nil || c.Status.Bootstrap != nil && c.Status.Bootstrap.ClusterID != "" {
		// A cluster that is wanted and formed long ago has lost its record.
		s.Rendering = l.Rendering(c)
		s.View, err = l.view(ctx, s, c)
		if err := l.withoutRight(&s, err); err != nil {
			return s, err
		}
		l.mu.Lock()
		s.Kube.Administrator = l.admin
		l.mu.Unlock()
		l.refusedPasswords(ctx, &s)
		if err := l.watchExpiry(ctx, &s, c); err != nil {
			return s, err
		}
	}
	return s, nil
}

// view asks the members that run; for the others Kubernetes says why they can't be asked.
// That nobody may ask them, for want of a right, is no state of theirs.
func (l *Executor) view(ctx context.Context, s ops.State, c *v1alpha1.DatabaseCluster) (engine.View, error) {
	s.Cluster = c
	var running []string
	var silent []engine.Member
	for _, m := range s.Kube.Members {
		switch {
		case !s.Ours(m):
		case m.Pod.Running && !m.Pod.Terminating:
			running = append(running, m.Name)
		case m.Workload.Exists:
			silent = append(silent, engine.Member{Name: m.Name, Role: engine.RoleUnknown, Problem: ops.Silence(m)})
		}
	}
	var v engine.View
	if len(running) > 0 {
		session, err := l.connect(ctx, s.Cluster)
		if _, ok := errors.AsType[*kube.ForbiddenError](err); ok {
			return v, err
		}
		if err != nil {
			for _, name := range running {
				silent = append(silent, engine.Member{Name: name, Role: engine.RoleUnknown, Problem: err.Error()})
			}
		} else {
			v = session.Observe(ctx, running)
			l.present(ctx, session, &v)
		}
	}
	v.Members = append(v.Members, silent...)
	return v, nil
}

// connect returns the session of the cluster's present incarnation.
func (l *Executor) connect(ctx context.Context, c *v1alpha1.DatabaseCluster) (engine.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Status.Bootstrap == nil {
		return nil, rules.NoFounding(c)
	}
	token := c.Status.Bootstrap.Token
	if l.session != nil && l.token == token {
		return l.session, nil
	}
	var config *tls.Config
	var admin *pki.Certificate
	if !c.Spec.TLS.Disabled {
		var err error
		if config, admin, err = l.clientTLS(ctx, c); err != nil {
			return nil, fmt.Errorf("read the client certificate of %s: %w", c.Name, err)
		}
	}
	session, err := l.Engine.Connect(l.access(c, config))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.Name, err)
	}
	if l.ReadOnly {
		session = engine.ReadOnly(session)
	}
	if l.session != nil {
		_ = l.session.Close()
	}
	l.session, l.token, l.admin = session, token, admin
	return session, nil
}

// access is how the administrator reaches the cluster. A restored one may
// demand the password of another time.
func (l *Executor) access(c *v1alpha1.DatabaseCluster, config *tls.Config) engine.Access {
	secrets := []string{v1alpha1.PasswordSecret(c.Name, v1alpha1.AdminUser)}
	if from := c.Spec.RestoreFrom; from != nil && from.RootSecret != "" {
		secrets = append(secrets, from.RootSecret)
	}
	return engine.Access{Cluster: c, TLS: config, Credentials: l.passwords(c, secrets...),
		Dial: func(ctx context.Context, pod string, port int) (net.Conn, error) {
			conn, err := l.Dialer.DialPodAt(ctx, c.Namespace, pod, l.address(pod), port)
			if denied, ok := errors.AsType[*kube.ForbiddenError](err); ok {
				l.denied.Store(denied)
			}
			return conn, err
		}}
}

// remember keeps where pods are: a member is dialled right after.
func (l *Executor) remember(f observe.Facts) {
	at := map[string]string{}
	for _, m := range f.Members {
		at[v1alpha1.PodName(m.Name)] = m.Pod.IP
	}
	l.seen.Store(&at)
}

// address is where a pod was when it was observed last; "" if that is not known.
func (l *Executor) address(pod string) string {
	at := l.seen.Load()
	if at == nil {
		return ""
	}
	return (*at)[pod]
}

// image returns the image of a version for this cluster.
func (l *Executor) image(c *v1alpha1.DatabaseCluster, version string) (string, error) {
	if c.Spec.Image != "" {
		return c.Spec.Image, nil
	}
	release, err := l.Engine.Catalog().Resolve(version)
	if err != nil {
		return "", err
	}
	return engine.Mirrored(release.Image, c.Spec.Registry), nil
}

// Rendering implements ops.Renderer. Why there is nothing is told elsewhere.
func (l *Executor) Rendering(c *v1alpha1.DatabaseCluster) string {
	image, err := l.image(c, c.Spec.Version)
	if err != nil {
		return ""
	}
	digest, err := rules.RenderingDigest(l.Engine, c, image, l.helperImage(c))
	if err != nil {
		return ""
	}
	return digest
}

// helperImage returns the image of this tool for this cluster.
func (l *Executor) helperImage(c *v1alpha1.DatabaseCluster) string {
	if c.Spec.HelperImage != "" {
		return c.Spec.HelperImage
	}
	return engine.Mirrored(l.HelperImage, c.Spec.Registry)
}
