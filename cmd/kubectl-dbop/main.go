// Command kubectl-dbop operates database clusters on Kubernetes, as a kubectl plugin.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, and images hold none

	_ "k8s.io/client-go/plugin/pkg/client/auth" // logins of cloud providers

	"github.com/dbop-dev/kubectl-dbop/pkg/cli"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey"
	"github.com/dbop-dev/kubectl-dbop/pkg/operator"
)

// Set by the linker.
var version, commit, date = "v0.0.0-dev", "unknown", "unknown"

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(cli.Run(context.Background(), command.Config{
		Program: os.Args[0], Args: os.Args[1:],
		Build:   command.Build{Version: version, Commit: commit, Date: date},
		Engines: []engine.Engine{etcd.New(), postgres.New(), valkey.New(), valkey.NewRedis()},
		Streams: progress.StandardStreams(),
		Signals: signals, Getenv: os.Getenv, Now: time.Now,
		Operate: func(ctx context.Context, c command.OperatorConfig) error {
			return operator.Run(ctx, operator.Config(c))
		},
	}))
}
