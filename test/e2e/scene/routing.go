//go:build e2e

package scene

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// Led waits until clients are led straight to the primary, or to all members, and there are the account, its rights and
// pods that go with that.
func (s *Scene) Led(direct bool) {
	s.Helper()
	s.OK(harness.Until(s.Ctx, time.Minute, "the way of clients", func(context.Context) error {
		member, wanted := "", 0
		if direct {
			member, wanted = s.Member("primary"), 3
		}
		if got := s.query("service", "db-client", `{.spec.selector.dbop\.dev/member}`); got != member {
			return fmt.Errorf("the service selects %q, want %q", got, member)
		}
		if got := s.query("serviceaccounts,roles,rolebindings", "-l", "dbop.dev/cluster=db",
			"{.items[*].metadata.name}"); len(strings.Fields(got)) != wanted {
			return fmt.Errorf("of the account there is %q", got)
		}
		for got := range strings.FieldsSeq(s.query("pods", "-l", "dbop.dev/member",
			"{.items[*].spec.serviceAccountName}")) {
			if (got == "db-agents") != direct {
				return fmt.Errorf("a pod has the account %s", got)
			}
		}
		return nil
	}))
}

// query asks the API server; the last argument is what of the answer.
func (s *Scene) query(args ...string) string {
	s.Helper()
	last := len(args) - 1
	r, err := s.Site.Kubectl(s.TempDir()).Run(s.Ctx, append([]string{"-n", s.NS, "get", "-o", "jsonpath=" + args[last]},
		args[:last]...)...)
	s.OK(err)
	if r.Code != 0 {
		s.Fatalf("expected success:\n%s", r)
	}
	return r.Stdout
}
