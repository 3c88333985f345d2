//go:build linux

// Command dbop-agent runs beside a database server. As "guard" it is the first process of the container; it starts
// itself as "run", which is the agent, and that starts the server. An init container puts it there with "install".
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/guard"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

var version = "v0.1.0-dev"

// mostProcessors is how many threads of an agent may work at once: the bytes of clients take one of them.
const mostProcessors = 4

// share returns what is called when clients begin to speak, and when they are silent. At rest one thread does all:
// more of them, which wait for work, cost a fifth of what the agent takes then.
func share(processors int) func(busy bool) {
	return func(busy bool) {
		if busy {
			runtime.GOMAXPROCS(processors)
			return
		}
		runtime.GOMAXPROCS(1)
	}
}

const usage = `usage: dbop-agent guard --config FILE        run an agent, and kill its server when the lease is over
       dbop-agent guard --config-env NAME   the same, with the configuration of an environment variable
       dbop-agent install DIRECTORY         copy this program into a directory
       dbop-agent version                   print the version`

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
	variable := flags.String("config-env", "", "environment `variable` that holds the configuration, instead of a file")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "guard":
		c, err := readConfig(*path, *variable)
		if err != nil {
			return err
		}
		runtime.GOMAXPROCS(1) // it hardly ever does anything, and threads that wait for work cost more than that
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the program of the agent: %w", err)
		}
		g := &guard.Guard{
			Command: []string{self, "run", "--config", *path, "--config-env", *variable},
			Env:     []string{pulse.Shared(c.Token)}, Log: os.Stderr,
		}
		return g.Run(ctx)
	case "run":
		c, err := readConfig(*path, *variable)
		if err != nil {
			return err
		}
		busy := share(min(runtime.GOMAXPROCS(0), mostProcessors))
		busy(false)
		return run(ctx, c, busy)
	case "install":
		if flags.NArg() != 1 {
			return fmt.Errorf("install the agent: name one directory\n%s", usage)
		}
		return install(flags.Arg(0))
	case "version":
		fmt.Fprintln(out, version)
		return nil
	}
	return fmt.Errorf("no command %q\n%s", args[0], usage)
}
