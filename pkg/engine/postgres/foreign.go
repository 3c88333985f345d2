package postgres

import (
	"context"
	"net"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/foreign"
)

var (
	_ engine.Recognizer     = (*Engine)(nil)
	_ engine.ExternalEngine = (*Engine)(nil)
)

// Recognize implements engine.Recognizer.
func (*Engine) Recognize(pod corev1.PodSpec) (engine.MemberConfig, bool) {
	return foreign.Recognize(pod)
}

// AssessRisks implements engine.Recognizer.
func (*Engine) AssessRisks(traces []engine.MemberConfig, v engine.View) []engine.Risk {
	return foreign.AssessRisks(traces, v)
}

// External implements engine.ExternalEngine.
func (e *Engine) External() engine.Engine { return foreign.Engine{Engine: e} }

// ExternalUser implements engine.ExternalEngine.
func (*Engine) ExternalUser() string { return foreign.User }

// ProbeTLS implements engine.ExternalEngine.
func (*Engine) ProbeTLS(ctx context.Context, conn net.Conn) (bool, error) {
	return foreign.ProbeTLS(ctx, conn)
}
