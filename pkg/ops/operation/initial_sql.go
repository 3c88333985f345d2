package operation

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// sqlDeadline bounds the initial SQL, as agents do.
const sqlDeadline = 10 * time.Minute

// checkInitialSQL judges who is to carry out initial SQL, without reading it.
func checkInitialSQL(e engine.Engine, c *v1alpha1.DatabaseCluster) error {
	from := c.Spec.InitialSQL
	refuse := func(reason string) error {
		return &engine.Refusal{Check: "initial-sql", Reason: reason,
			Hint: "kubectl dbop create --help shows how a database begins"}
	}
	switch {
	case from == nil:
		return nil
	case !e.Capabilities().SQL:
		return refuse("a database of " + e.Name() + " speaks no SQL")
	case c.Spec.Source != nil || c.Spec.RestoreFrom != nil:
		return refuse("initial SQL is for a database that begins empty")
	case from.Owner() == v1alpha1.ApplicationUser:
		return nil
	}
	for _, u := range c.Spec.Auth.Users {
		if u.Name == from.User && u.ReadOnly {
			return refuse(u.Name + " may only read")
		}
		if u.Name == from.User {
			return nil
		}
	}
	return refuse(fmt.Sprintf("%s is none of the users of %s", from.User, c.Name))
}

// runInitialSQL carries out the initial SQL of a new cluster, once its users are there.
func runInitialSQL(p rules.Situation) *ops.Decision {
	from := p.S.Cluster.Spec.InitialSQL
	if from == nil || p.S.Fact(v1alpha1.FactInitialSQL) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionInitialSQL), Action: ops.ActionInitialSQL, User: from.Owner(),
		Risk: ops.RiskNone, Deadline: sqlDeadline,
		Title:  "Carry out the SQL of secret " + from.Secret + " for " + from.Owner(),
		Reason: "in one transaction: all of it or nothing"})
}
