package client

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.Presenter = (*Session)(nil)

// Present implements engine.Presenter. The agent shows a certificate once its server shows it to clients.
func (s *Session) Present(ctx context.Context, member string) (engine.Presented, error) {
	if s.access.TLS == nil {
		return engine.Presented{}, fmt.Errorf("read the certificate of member %s: %w", member, errPlain)
	}
	raw, err := s.access.Dial(ctx, v1alpha1.PodName(member), Port)
	if err != nil {
		return engine.Presented{}, fmt.Errorf("read the certificate of member %s: %w", member, err)
	}
	config := s.access.TLS.Clone()
	config.ServerName, config.MinVersion = member, tls.VersionTLS13
	p, err := engine.ReadPresented(ctx, raw, config)
	if err != nil {
		return p, fmt.Errorf("read the certificate of member %s: %w", member, err)
	}
	return p, nil
}
