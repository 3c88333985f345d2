package cluster

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/control"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/network"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/node"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

// Status prints what runs. It fails if the control plane does not.
func (c Cluster) Status(ctx context.Context, out io.Writer) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, name := range control.Components {
		fmt.Fprintf(table, "%s\t%s\n", name, word(process.Alive(c.Site, name), "running", "dead"))
	}
	ready, apiErr := client.Nodes(ctx)
	nodes, err := node.List(c.Site)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", n.Name, word(n.Alive(), "running", "crashed"),
			word(network.Connected(n.Index), "connected", "cut"), word(!ready[n.Name].IsZero(), "ready", "not ready"), n.Address())
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the status: %w", err)
	}
	if apiErr != nil {
		return fmt.Errorf("%w (%w)", errDown, apiErr)
	}
	return control.Healthy(ctx, c.Site, client)
}

// word picks the one that applies.
func word(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}
