//go:build linux

package movein

import (
	"strconv"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestLeaveLogin: nobody but a superuser of the source learns the password that is left there.
func TestLeaveLogin(t *testing.T) {
	t.Parallel()
	from := start(t, local.User, "-c", "shared_preload_libraries=pg_stat_statements")
	m := &Move{source: source.Source{Source: protocol.Source{Address: "127.0.0.1:" + strconv.Itoa(from.Port),
		User: local.User}}}
	m.there(t, source.Maintenance, "CREATE EXTENSION pg_stat_statements SCHEMA public")
	m.there(t, source.Maintenance, "SELECT 'counted'")
	if err := m.leaveLogin(t.Context(), "dbop_1", "hidden-word"); err != nil {
		t.Fatal(err)
	}
	if got := m.there(t, source.Maintenance, "SELECT subconninfo FROM pg_subscription"); len(got[0]) != 1 ||
		!strings.Contains(got[0][0][0], "hidden-word") {
		t.Errorf("the login is not left: %v", got)
	}
	got := m.there(t, source.Maintenance, "SELECT query FROM public.pg_stat_statements")
	if len(got[0]) == 0 {
		t.Error("nothing is counted")
	}
	for _, row := range got[0] {
		if strings.Contains(row[0], "hidden-word") || strings.Contains(row[0], "CREATE SUBSCRIPTION") {
			t.Errorf("the statement is shown: %s", row[0])
		}
	}
	if got := m.there(t, source.Maintenance, secretly+"; SHOW track_activities"); got[len(got)-1][0][0] != "off" {
		t.Errorf("running statements are shown: %v", got)
	}
}
