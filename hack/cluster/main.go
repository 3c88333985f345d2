// Command cluster runs a real multi-node Kubernetes on one Linux machine, out
// of Go modules and Debian packages: no container registry, no docker. It is
// what the end-to-end tests of kubectl-dbop run on.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

func main() {
	if err := process.Hook(); err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit(dispatch(ctx, os.Args[1:]))
}

// exit ends the process as the error, or its absence, demands.
func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "cluster:", err)
	os.Exit(1)
}
