package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestObstacles: an upgrade to another major version is refused by the name of what would end it once the members are
// stopped, and says what to type.
func TestObstacles(t *testing.T) {
	t.Parallel()
	half := engine.Obstacle{What: `what an interrupted DROP DATABASE left of "half"`,
		Statements: []string{`DROP DATABASE "half"`}}
	prepared := engine.Obstacle{What: `the prepared transaction "its half" of the database "o'shop"`, Database: "o'shop",
		Statements: []string{"COMMIT PREPARED E'its half'", "ROLLBACK PREPARED E'its half'"}}
	for name, c := range map[string]struct {
		to           string
		all          []engine.Obstacle
		reason, hint string
	}{
		"none":          {to: "17.12"},
		"another minor": {to: "15.20", all: []engine.Obstacle{half}},
		"half a database": {to: "17.12", all: []engine.Obstacle{half}, reason: `DROP DATABASE left of "half"`,
			hint: `end the first with DROP DATABASE "half"; type that in: kubectl dbop connect db`},
		"a transaction": {to: "18.6", all: []engine.Obstacle{prepared, half},
			reason: `the prepared transaction "its half" of the database "o'shop", what an interrupted`,
			hint: `COMMIT PREPARED E'its half' or ROLLBACK PREPARED E'its half'; type that in: ` +
				`kubectl dbop connect db -- --dbname 'o'\''shop'`},
		"many": {to: "18.6", all: []engine.Obstacle{half, half, half, half, half, half, half}, reason: `"half", 2 more`},
	} {
		view := engine.View{Quorum: true, Members: []engine.Member{{Name: "db-1", ID: "db-1", Version: "15.18",
			Reachable: true, Serving: true, Role: engine.RoleLeader, Leader: "db-1", Obstacles: c.all}},
			MemberList: []engine.Registered{{Name: "db-1", ID: "db-1", Voter: true, Started: true}}}
		err := New().CheckUpgrade(view, v1alpha1.DatabaseClusterSpec{}, c.to)
		refusal, refused := errors.AsType[*engine.Refusal](err)
		if (err == nil) != (c.reason == "") || refused &&
			(!strings.Contains(refusal.Reason, c.reason) || !strings.HasSuffix(refusal.Hint, c.hint)) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}
