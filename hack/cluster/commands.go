package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cluster"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// onNode adapts what is done to one node.
func onNode(do func(cluster.Cluster, context.Context, string) error) func(context.Context, cluster.Cluster, options, []string) error {
	return func(ctx context.Context, c cluster.Cluster, _ options, args []string) error {
		return do(c, ctx, args[0])
	}
}

// onAll adapts what is done to the whole cluster.
func onAll(do func(cluster.Cluster, context.Context) error) func(context.Context, cluster.Cluster, options, []string) error {
	return func(ctx context.Context, c cluster.Cluster, _ options, _ []string) error { return do(c, ctx) }
}

// commands are all there are.
func commands() map[string]command {
	return map[string]command{
		"up":         {usage: "[--nodes 2] [--memory 12g]", help: "start the cluster, or see that it runs", changes: true, run: up},
		"down":       {help: "remove the cluster, keep the cache", changes: true, run: down},
		"status":     {usage: "[--leftovers]", help: "what runs, or what is left of it", run: status},
		"build":      {usage: "[NAME...]", help: "build binaries only, all or the named", most: -1, run: buildBinaries},
		"images":     {help: "build the standard images and load them into every node", changes: true, run: images},
		"image":      {usage: "--binary PATH... [--name IMAGE]", help: "pack static programs as an image and load it", changes: true, run: image},
		"load":       {usage: "ARCHIVE...", help: "load image archives into every node", changes: true, least: 1, most: -1, run: load},
		"kubeconfig": {usage: "--user NAME [--group G]...", help: "print a kubeconfig for a user without rights of its own", run: kubeconfig},
		"kubectl":    {usage: "ARGS...", help: "run kubectl as administrator", most: -1, raw: true, run: kubectl},
		"component restart": {usage: "NAME [--away 2s]", help: "kill a part of the control plane, and start it again after a while", changes: true, least: 1, most: 1,
			run: func(ctx context.Context, c cluster.Cluster, given options, args []string) error {
				return c.RestartComponent(ctx, args[0], given.away)
			}},
		"keep":        {help: "start parts of the control plane again that end; up starts this", run: onAll(cluster.Cluster.Keep)},
		"dns stop":    {help: "make the cluster's DNS silent", changes: true, run: onAll(cluster.Cluster.StopDNS)},
		"dns start":   {help: "let the cluster's DNS answer again", changes: true, run: onAll(cluster.Cluster.StartDNS)},
		"node add":    {usage: "NAME", help: "join a new node, or start a crashed one", changes: true, least: 1, most: 1, run: onNode(cluster.Cluster.AddNode)},
		"node cut":    {usage: "NAME", help: "take a node off the network", changes: true, least: 1, most: 1, run: onNode(cluster.Cluster.CutNode)},
		"node heal":   {usage: "NAME", help: "undo a cut or a crash", changes: true, least: 1, most: 1, run: onNode(cluster.Cluster.HealNode)},
		"node crash":  {usage: "NAME", help: "take a node's power away", changes: true, least: 1, most: 1, run: onNode(cluster.Cluster.CrashNode)},
		"node remove": {usage: "NAME", help: "take a node away for good", changes: true, least: 1, most: 1, run: onNode(cluster.Cluster.RemoveNode)},
	}
}

// usage lists the commands.
func usage() string {
	all := commands()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	text.WriteString("usage: cluster COMMAND [--state DIR] [--cache DIR] [--source DIR]\n")
	for _, name := range names {
		fmt.Fprintf(&text, "  %-42s %s\n", name+" "+all[name].usage, all[name].help)
	}
	return text.String()
}

func up(ctx context.Context, c cluster.Cluster, given options, _ []string) error {
	if os.Geteuid() != 0 {
		return errors.New("a cluster needs root: it makes network namespaces, mounts and control groups")
	}
	if given.nodes < 1 || given.nodes > site.MaxNodes {
		return fmt.Errorf("--nodes must be from 1 to %d", site.MaxNodes)
	}
	if err := c.Up(ctx, given.nodes); err != nil {
		return err
	}
	c.Log.Printf("ready; kubectl is %s", c.Bin("kubectl"))
	fmt.Println(c.Kubeconfig())
	return nil
}

func down(ctx context.Context, c cluster.Cluster, _ options, _ []string) error { return c.Down(ctx) }

func status(ctx context.Context, c cluster.Cluster, given options, _ []string) error {
	if !given.leftovers {
		return c.Status(ctx, os.Stdout)
	}
	left, err := c.Leftovers()
	if err != nil {
		return err
	}
	for _, what := range left {
		fmt.Println(what)
	}
	if len(left) > 0 {
		return fmt.Errorf("%d things are left of a cluster", len(left))
	}
	return nil
}

func buildBinaries(ctx context.Context, c cluster.Cluster, _ options, names []string) error {
	return c.Build(ctx, names)
}

func images(ctx context.Context, c cluster.Cluster, _ options, _ []string) error {
	return c.Images(ctx)
}

func image(ctx context.Context, c cluster.Cluster, given options, _ []string) error {
	if len(given.binaries) == 0 {
		return errors.New("--binary is missing: the static program to pack")
	}
	return c.PluginImage(ctx, given.name, given.binaries)
}

func load(ctx context.Context, c cluster.Cluster, _ options, files []string) error {
	return c.Load(ctx, files...)
}

func kubeconfig(_ context.Context, c cluster.Cluster, given options, _ []string) error {
	if given.user == "" {
		return errors.New("--user is missing: whom the kubeconfig is for")
	}
	content, err := c.AsUser(given.user, given.groups)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(content)
	return err
}

// kubectl becomes kubectl, so that signals, terminals and exit codes are its
// own affair.
func kubectl(_ context.Context, c cluster.Cluster, _ options, args []string) error {
	path, err := exec.LookPath(c.Bin("kubectl"))
	if err != nil {
		return fmt.Errorf("kubectl is not built yet, run `cluster build kubectl`: %w", err)
	}
	if err := os.Setenv("KUBECONFIG", c.Site.Kubeconfig()); err != nil {
		return fmt.Errorf("point kubectl at the cluster: %w", err)
	}
	if err := syscall.Exec(path, append([]string{"kubectl"}, args...), os.Environ()); err != nil {
		return fmt.Errorf("execute %s: %w", path, err)
	}
	return nil
}
