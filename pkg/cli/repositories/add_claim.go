package repositories

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/preflight"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// findClaim finds the claim of a repository on a claim, and where pods can mount it.
func (a *addFlags) findClaim(ctx context.Context, named clients.Named, namespace string, d *bucket.Description) error {
	at, ok := d.Claim()
	if !ok {
		return nil
	}
	where, err := named.Mountable(ctx, namespace, at.Claim)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return &ops.Error{Kind: ops.Refused, Check: "claim", Err: err,
			Message: fmt.Sprintf("there is no persistentvolumeclaim %s in namespace %s", at.Claim, namespace),
			Hint:    "create that claim, or name another one"}
	case err != nil:
		return err
	case where == preflight.ByOnePod:
		return &ops.Error{Kind: ops.Refused, Check: "claim",
			Message: fmt.Sprintf("claim %s in namespace %s can't be written by two pods at once", at.Claim, namespace),
			Hint:    "name a claim whose access mode is ReadWriteMany or ReadWriteOnce"}
	}
	d.OneNode = where == preflight.OnOneNode
	return nil
}

// kindOf is what a repository is on, for people.
func kindOf(d bucket.Description) string {
	if _, ok := d.Claim(); ok {
		return "claim"
	}
	return "bucket"
}
