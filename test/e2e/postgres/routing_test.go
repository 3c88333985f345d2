//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// leads waits until the service of clients selects the primary alone. An agent reads it twice a minute.
func (s *scene) leads() {
	s.T.Helper()
	s.ok(harness.Until(s.ctx, time.Minute, "the service to select the primary", func(context.Context) error {
		got, want := s.kubectl("get", "service", "db-client", "-o", `jsonpath={.spec.selector.dbop\.dev/member}`), s.primary()
		if got != want {
			return fmt.Errorf("it selects %q, and the primary is %s", got, want)
		}
		return nil
	}))
}
