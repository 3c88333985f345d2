package command

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/external"
)

// ExternalFlags say where such a database is, and with what to speak to it.
type ExternalFlags struct {
	Name, selector, engine string
	endpoints              []string
	cert, ca, user         string
}

func (o *ExternalFlags) AddTo(f *Factory, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.selector, "selector", "l", "",
		"Label selector of the pods of a database that something else made.")
	flags.StringSliceVar(&o.endpoints, "endpoints", nil,
		"Members of such a database, each as POD:PORT or as a URL that this machine reaches.")
	flags.StringVar(&o.cert, "cert-secret", "",
		"Secret with tls.crt, tls.key and ca.crt to speak to it with; guessed from its pods if not set.")
	flags.StringVar(&o.ca, "ca-secret", "", "Secret with the authority to trust under ca.crt, if that is another one.")
	flags.StringVar(&o.user, "user-secret", "",
		"Secret with username (root, or postgres, if missing) and password, where the database demands them.")
	flags.StringVar(&o.engine, "engine", "",
		"Which database product it is; needed only where its pods don't show it.")
	CompleteEngines(f, cmd)
}

// Given reports whether the flags name a database.
func (o *ExternalFlags) Given() bool {
	return o.Name != "" || o.selector != "" || len(o.endpoints) > 0
}

// Check demands exactly one way to find the database.
func (o *ExternalFlags) Check(name string) error {
	ways := 0
	for _, given := range []bool{o.Name != "", o.selector != "", len(o.endpoints) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return exit.Misuse("name the database in exactly one way: %s, --selector or --endpoints", name)
	}
	return nil
}

// Open finds the database and prepares to speak to it.
func (o *ExternalFlags) Open(ctx context.Context, f *Factory) (clients.External, error) {
	var named engine.Engine
	if o.engine != "" {
		var err error
		if named, err = f.EngineNamed(o.engine); err != nil {
			return nil, err
		}
	}
	namespace, err := f.Namespace()
	if err != nil {
		return nil, err
	}
	return f.Clients.External(ctx,
		external.Config{Engine: named, Engines: f.Engines, Namespace: namespace, Name: o.Name, Selector: o.selector,
			Endpoints: o.endpoints, CertSecret: o.cert, CASecret: o.ca, UserSecret: o.user, Tool: f.Build.Version})
}
