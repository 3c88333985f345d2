package foreign

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// lagOnly is an engine of which nothing but the distance of positions is asked.
type lagOnly struct{ engine.Engine }

func (lagOnly) Lag(gap engine.Gap) (engine.Distance, bool) { return agreed.Rules{}.Lag(gap) }

// TestHealth: a replica is healthy that receives the log of the primary and is not far behind.
func TestHealth(t *testing.T) {
	t.Parallel()
	at := func(timeline, bytes int) engine.Position { return agreed.Position("7", timeline, bytes) }
	replica := func(from string, position engine.Position) engine.Member {
		return engine.Member{Name: "db-1", Reachable: true, Role: engine.RoleReplica, Leader: from, Position: position}
	}
	primary := engine.Member{Name: "db-0", Reachable: true, Serving: true, Role: engine.RolePrimary,
		Position: at(3, 2<<30)}
	for want, m := range map[string]engine.Member{
		"":                       replica("10.0.0.1", at(3, 2<<30)),
		"was not reached: no":    {Name: "db-1", Problem: "no answer"},
		"receives no log":        replica("", at(3, 2<<30)),
		"is on another timeline": replica("10.0.0.1", at(2, 2<<30)),
		"behind the primary":     replica("10.0.0.1", at(3, 1<<20)),
	} {
		err := Engine{Engine: lagOnly{}}.Health(viewOf([]engine.Member{primary, m}), "db-1")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := (Engine{Engine: lagOnly{}}).Health(viewOf([]engine.Member{primary}), "db-0"); err != nil {
		t.Errorf("the primary: %v", err)
	}
}

// TestProbeTLS: one byte says whether a server speaks TLS, and anything else is no server of PostgreSQL.
func TestProbeTLS(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct{ yes, fails bool }{
		"S": {yes: true}, "N": {}, "H": {fails: true}, "": {fails: true},
	} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 8))
			_, _ = theirs.Write([]byte(answer))
			_ = theirs.Close()
		}()
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		yes, err := ProbeTLS(ctx, ours)
		stop()
		_ = ours.Close()
		if yes != want.yes || (err != nil) != want.fails {
			t.Errorf("%q: %t, %v", answer, yes, err)
		}
	}
}
