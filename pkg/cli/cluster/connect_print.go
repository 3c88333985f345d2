package cluster

import (
	"context"
	"errors"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// printConnections prints the connection strings of applications, and where the password is.
func printConnections(ctx context.Context, f *command.Factory, name string) error {
	t, err := f.Target(ctx, []string{name})
	if err != nil {
		return err
	}
	c, ok := t.Engine.(engine.Connector)
	if !ok {
		return &engine.Refusal{Check: "connect", Reason: "clients of " + t.Engine.Name() + " take no connection string",
			Hint: "clients reach it at " + v1alpha1.ClientHost(name, t.Namespace)}
	}
	pods, err := f.Clients.Pods(ctx, t.Namespace, v1alpha1.LabelCluster+"="+name+","+v1alpha1.LabelMember)
	if err != nil {
		return err
	}
	var members []string
	for _, p := range pods {
		m, b := p.Labels[v1alpha1.LabelMember], t.Cluster.Status.Bootstrap
		if b == nil || !slices.Contains(b.Witnesses, m) {
			members = append(members, m)
		}
	}
	u := engine.User{Name: v1alpha1.ApplicationUser}
	secret := v1alpha1.PasswordSecret(name, u.Name)
	has, err := f.Clients.Passwords(ctx, t.Namespace, secret)
	_, forbidden := errors.AsType[*kube.ForbiddenError](err)
	switch {
	case err == nil:
		u.Name = has.Current.User
	case forbidden:
		f.Note("the secret may not be read: once the password was rotated, %s logs in by the name that is in it", u.Name)
	case !errors.Is(err, kube.ErrNotFound):
		return err
	}
	table := printer.NewTables().NewTable("ANSWERS", "CONNECTION-STRING")
	for _, way := range c.Connections(t.Cluster, u, members) {
		table.Row(way.To, way.URL.String())
	}
	if err := table.Print(f.Streams.Out, ""); err != nil {
		return err
	}
	f.Note("secret %s has the password, and uri is the first string with it; the authority is ca.crt in secret %s",
		secret, v1alpha1.ClientSecret(name))
	return nil
}
