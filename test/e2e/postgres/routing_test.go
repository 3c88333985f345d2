//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// leads waits until the service of clients selects the primary alone.
func (s *scene) leads() {
	s.Helper()
	want := s.primary()
	s.ok(harness.Until(s.ctx, time.Minute, "the service to select the primary", func(context.Context) error {
		got := s.kubectl("get", "service", "db-client", "-o", `jsonpath={.spec.selector.dbop\.dev/member}`)
		if got != want {
			return fmt.Errorf("it selects %q, and the primary is %s", got, want)
		}
		return nil
	}))
}
