package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// printConnections prints the connection strings of applications, or of a user, and where the password is.
func printConnections(ctx context.Context, f *command.Factory, t *clients.Target, asked connecting) error {
	name := t.Cluster.Name
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
	u := rules.UserNamed(ops.State{Cluster: t.Cluster}, cmp.Or(asked.user, v1alpha1.ApplicationUser))
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
	same := true // as in the secret
	for _, way := range c.Connections(t.Cluster, u, members) {
		if asked.database != "" {
			same = same && way.URL.Path == "/"+asked.database
			way.URL.Path = "/" + asked.database
		}
		table.Row(way.To, way.URL.String())
	}
	if err := table.Print(f.Streams.Out, ""); err != nil {
		return err
	}
	uri := ", and uri is the first string with it"
	if !same {
		uri = ""
	}
	f.Note("secret %s has the password%s; the authority is ca.crt in secret %s", secret, uri,
		v1alpha1.ClientSecret(name))
	return nil
}
