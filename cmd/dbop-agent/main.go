//go:build linux

// Command dbop-agent runs beside a database server. As "guard" it is the first process of the container; it starts
// itself as "run", which is the agent, and that starts the server.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/guard"
)

var version = "v0.1.0-dev"

const usage = `usage: dbop-agent guard --config FILE    run an agent, and kill its server when the lease is over
       dbop-agent version                print the version`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no command\n%s", usage)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(out)
	path := flags.String("config", "/etc/dbop/agent.json", "`file` of the configuration")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "guard":
		if _, err := readConfig(*path); err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the program of the agent: %w", err)
		}
		g := &guard.Guard{Command: []string{self, "run", "--config", *path}, Log: os.Stderr}
		return g.Run(ctx)
	case "run":
		c, err := readConfig(*path)
		if err != nil {
			return err
		}
		return run(ctx, c)
	case "version":
		fmt.Fprintln(out, version)
		return nil
	}
	return fmt.Errorf("no command %q\n%s", args[0], usage)
}
