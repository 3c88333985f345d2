package diagnostics

import (
	"context"
	"errors"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// customStatus is the custom resource that a cluster is under, and who
// operates it; "" if nobody does.
type customStatus struct {
	Name     string `json:"name"`
	Operator string `json:"operator,omitempty"`
	Alive    bool   `json:"alive"`
	// Missing: there is no such object, although the record names it.
	Missing bool `json:"missing,omitempty"`
	// Deleted: there is none because a person deleted it, and an operator ends the database.
	Deleted bool `json:"deleted,omitempty"`
	// Unknown says why it could not be found out.
	Unknown string `json:"unknown,omitempty"`
}

// operated asks who operates a cluster; nil for one of the command line's.
func operated(ctx context.Context, f *command.Factory, t *clients.Target) *customStatus {
	if t.Cluster.Annotations[v1alpha1.AnnotationCustom] == "" {
		return nil
	}
	out := &customStatus{Name: t.Cluster.Name}
	custom, alive, err := f.Clients.Custom(ctx, t.Namespace, t.Cluster.Name)
	if custom != nil {
		out.Operator, out.Alive = custom.Status.Operator, alive
	}
	switch gone := errors.Is(err, kube.ErrNotFound); {
	case gone && policy.Ends(t.Cluster):
		out.Deleted = true
	case gone:
		out.Missing = true
	case err != nil:
		out.Unknown = err.Error()
	}
	return out
}

func (c *customStatus) text() string {
	out := "databasecluster/" + c.Name
	switch {
	case c.Deleted:
		return out + " was deleted, and its operator ends the database"
	case c.Missing:
		return out + " is missing; commands act themselves"
	case c.Unknown != "":
		return out + ", whose operator is unknown: " + c.Unknown
	case c.Operator == "":
		return out + ", which no operator has taken notice of"
	case !c.Alive:
		return out + ", whose operator " + c.Operator + " is not alive; commands act themselves"
	}
	return out + ", operated by " + c.Operator
}
