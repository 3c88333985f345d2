package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cluster"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/machine"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/progress"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// command is one verb. Its flags are its own plus the common ones.
type command struct {
	// usage is what follows the name.
	usage string
	help  string
	// changes says that no second driver may run beside this one.
	changes bool
	// least and most bound the number of arguments; most < 0 is unbounded.
	least, most int
	// raw passes all arguments on, flags included.
	raw bool
	run func(context.Context, cluster.Cluster, options, []string) error
}

// options are the values of all flags.
type options struct {
	nodes             int
	memory            string
	leftovers         bool
	binaries          list
	name              string
	user              string
	groups            list
	away              time.Duration
	state, cache, src string
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

// Set adds one.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// dispatch finds the command, parses its flags and runs it.
func dispatch(ctx context.Context, args []string) error {
	name, chosen, rest := find(args)
	if chosen == nil {
		return errors.New(usage())
	}
	var given options
	flags := given.flags(name)
	var positional []string
	if chosen.raw {
		if err := flags.Parse(nil); err != nil {
			return err
		}
		positional = rest
	} else {
		var err error
		if positional, err = interspersed(flags, rest); err != nil {
			return fmt.Errorf("%w; usage: cluster %s %s", err, name, chosen.usage)
		}
	}
	if len(positional) < chosen.least || chosen.most >= 0 && len(positional) > chosen.most {
		return fmt.Errorf("usage: cluster %s %s", name, chosen.usage)
	}
	target, err := given.cluster()
	if err != nil {
		return err
	}
	if err := machine.ExtendPath(); err != nil {
		return err
	}
	if chosen.changes {
		release, err := machine.Lock(target.Log)
		if err != nil {
			return err
		}
		defer release()
	}
	return chosen.run(ctx, target, given, positional)
}

// find takes the command's name, of one word or two, off the arguments.
func find(args []string) (string, *command, []string) {
	for words := min(2, len(args)); words > 0; words-- {
		name := strings.Join(args[:words], " ")
		if chosen, ok := commands()[name]; ok {
			return name, &chosen, args[words:]
		}
	}
	return "", nil, nil
}

// flags declares every flag; a command ignores those that are not its own.
func (o *options) flags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	flags.StringVar(&o.state, "state", or(os.Getenv("DBOP_CLUSTER_STATE"), "/var/lib/dbop-cluster"), "directory of the cluster")
	flags.StringVar(&o.cache, "cache", or(os.Getenv("DBOP_CLUSTER_CACHE"), filepath.Join(home, ".cache", "dbop-cluster")), "directory of binaries and images")
	flags.StringVar(&o.src, "source", "", "directory of hack/cluster (default: searched upwards from here)")
	flags.IntVar(&o.nodes, "nodes", 2, "up: how many nodes at least")
	flags.StringVar(&o.memory, "memory", os.Getenv("DBOP_CLUSTER_MEMORY"), "up: keep a new cluster in so much memory, for example 12g, and not on the disk")
	flags.BoolVar(&o.leftovers, "leftovers", false, "status: list what a cluster left on the machine, fail if anything")
	flags.Var(&o.binaries, "binary", "image: a static program to pack, may be repeated; the first is what a container starts")
	flags.StringVar(&o.name, "name", "dbop.test/dbop-dev/kubectl-dbop:dev", "image: the name of the image")
	flags.DurationVar(&o.away, "away", 0, "component restart: how long it is away")
	flags.StringVar(&o.user, "user", "", "kubeconfig: the user's name")
	flags.Var(&o.groups, "group", "kubeconfig: a group of the user, may be repeated")
	return flags
}

// cluster puts together what the flags say.
func (o *options) cluster() (cluster.Cluster, error) {
	place := site.Site{Source: o.src}
	var err error
	if place.State, err = filepath.Abs(o.state); err != nil {
		return cluster.Cluster{}, fmt.Errorf("find the directory of the cluster: %w", err)
	}
	if place.Cache, err = filepath.Abs(o.cache); err != nil {
		return cluster.Cluster{}, fmt.Errorf("find the cache: %w", err)
	}
	return cluster.Cluster{Site: place, Memory: o.memory, Log: progress.New(os.Stderr)}, nil
}

// interspersed parses flags that may stand anywhere among the arguments.
func interspersed(flags *flag.FlagSet, args []string) ([]string, error) {
	var positional []string
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return positional, nil
		}
		positional, args = append(positional, flags.Arg(0)), flags.Args()[1:]
	}
}

// or is the first that is not empty.
func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}
