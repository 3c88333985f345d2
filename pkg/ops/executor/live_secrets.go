package executor

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// secretsEvery is how long the secrets that were read last are good for, where
// an operation is not about them.
const secretsEvery = 10 * time.Second

// readSecrets reads and compares the secrets of a cluster that has formed. A
// observe takes one list in place of the one secret that dialling needs. Who may
// not list them reads that one, and nothing is compared; nil then.
func (l *Executor) readSecrets(ctx context.Context, s *ops.State, c *v1alpha1.DatabaseCluster,
	wanted bool) (*pki.Secrets, error) {
	if c.Spec.TLS.Disabled && !c.Spec.Auth.Enabled || !wanted &&
		(c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID == "") {
		return nil, nil
	}
	l.mu.Lock()
	secrets, due := l.secrets, wanted || time.Since(l.read) > secretsEvery
	l.mu.Unlock()
	var members []string
	for _, m := range s.Kube.Members {
		if m.Workload.Exists && s.Ours(m) {
			members = append(members, m.Name)
		}
	}
	if due {
		var err error
		secrets, err = pki.ReadSecrets(ctx, l.Client, c, members)
		if _, forbidden := errors.AsType[*kube.ForbiddenError](err); forbidden && !wanted {
			err = nil
			s.Kube.Unexamined = append(s.Kube.Unexamined, "secrets")
		}
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.secrets, l.read = secrets, time.Now()
		l.mu.Unlock()
	}
	if secrets != nil && s.Formed() {
		s.Kube.Differences = append(s.Kube.Differences, secrets.Differences(members, l.Client.Now())...)
	}
	return secrets, nil
}

// clientTLS is the administrator's certificate, of the secrets that were read
// right before where there are any.
func (l *Executor) clientTLS(ctx context.Context, c *v1alpha1.DatabaseCluster) (*tls.Config, *pki.Certificate, error) {
	if l.secrets != nil && !c.Spec.TLS.Disabled && time.Since(l.read) < secretsEvery {
		return l.secrets.ClientTLS()
	}
	return pki.ClientTLS(ctx, l.Client, c)
}
