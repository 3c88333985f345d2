package executor

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/dial"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/certificates"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// liveOf is a fresh process.
func liveOf(b *opstest.Bench) *Executor {
	b.T.Helper()
	c := b.Client()
	l := New(Config{Client: c, Store: store.NewConfigMaps(c), Dialer: dial.NewDialer(c, b.Tunnels.Open),
		Engine:    b.Database,
		Namespace: "shop", Name: "db", Tool: "v1", HelperImage: "example.com/tool:v1", ReadOnly: b.ReadOnly})
	b.T.Cleanup(func() { _ = l.Close() })
	return l
}

// running starts members as their controllers would, of the cluster as it is.
func running(b *opstest.Bench, members ...string) {
	b.T.Helper()
	l := liveOf(b)
	s := ops.State{Cluster: b.Cluster()}
	b.Must(pki.EnsureCertificates(b.T.Context(), b.Client(), s.Cluster))
	b.Must(l.start(b.T.Context(), task{State: s, Step: ops.Step{Members: members}}))
	for _, m := range members {
		b.Pod(m)
	}
	b.Server.Writes = nil
}

// observe reads the cluster, with the operation in flight.
func observation(b *opstest.Bench, l *Executor) ops.State {
	b.T.Helper()
	if b.Op != nil {
		SelectFacts(l, b.Op.Spec.Verb, true)
	}
	s, err := l.Observe(b.T.Context())
	b.Must(err)
	s.Operation = b.Op
	return s
}

// perform does one step from a fresh observation of a fresh process.
func perform(b *opstest.Bench, step ops.Step) (ops.Result, error) {
	b.T.Helper()
	l := liveOf(b)
	return l.Perform(b.T.Context(), observation(b, l), step, func(int64, int64) {})
}

// withoutAuthority is a cluster whose authority is lost, and a repair of it.
func withoutAuthority(b *opstest.Bench, known bool) {
	b.T.Helper()
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	b.Op = opstest.Operation(v1alpha1.VerbRepair)
	b.Op.Spec.Authority = certificates.Lost
	if s := observation(b, liveOf(b)); known {
		b.Op.Spec.Authority = certificates.Trusted(s)
	}
	if b.Op.Spec.Authority == "" {
		b.T.Fatal("nobody trusts an authority")
	}
	b.Must(b.Server.Raw.Delete(b.T.Context(), &corev1.Secret{ObjectMeta: opstest.Object("db-ca", nil)}))
}
