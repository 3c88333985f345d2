package command

import (
	"context"
	"io"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// OperatorConfig is what the other driver is started with. The two don't know
// each other: main connects them.
type OperatorConfig struct {
	Rest                          *rest.Config
	Engines                       []engine.Engine
	Tool, HelperImage             string
	Namespace                     string
	Watched                       []string
	Elect                         bool
	ClusterIssuers                bool
	MetricsAddress, HealthAddress string
	Workers                       int
	Log                           io.Writer
	FailPoint                     func(when string, step ops.Step)
}

// Build says which build this is.
type Build struct {
	Version, Commit, Date string
}

// Config is all that the command line takes from the outside.
type Config struct {
	// Program is argv[0], Args what follows it.
	Program string
	Args    []string
	Build   Build
	Engines []engine.Engine
	Streams progress.Streams
	// Signals end a command: the first gently, the second at once.
	Signals <-chan os.Signal
	// Operate is the operator; nil for none.
	Operate func(context.Context, OperatorConfig) error
	Getenv  func(string) string
	Now     func() time.Time
	// Clients reach everything else; those for a real cluster if not set.
	Clients clients.Clients
	// Random makes tokens and identifiers; that of the system if not set.
	Random io.Reader
}
