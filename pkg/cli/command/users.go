package command

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// Users are the users that this tool makes in a cluster, in order.
func Users(c *v1alpha1.DatabaseCluster) []string {
	out := []string{v1alpha1.AdminUser, v1alpha1.ApplicationUser}
	for _, u := range c.Spec.Auth.Users {
		out = append(out, u.Name)
	}
	return out
}

// CompleteUserFlag suggests the users of the cluster that the arguments name, or of the only one.
func CompleteUserFlag(f *Factory) Completion {
	return Suggest(completeMost, func(ctx context.Context, args []string) ([]string, error) {
		t, err := f.Target(ctx, args[:min(1, len(args))])
		if err != nil {
			return nil, err
		}
		return Users(t.Cluster), nil
	})
}
