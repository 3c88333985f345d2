package control

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/api"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Keeper is the name of the process that keeps the components running. It is
// none of them: a cluster without it serves.
const Keeper = "keeper"

// keepEvery is how often the keeper observes.
const keepEvery = time.Second

// keeper runs the driver itself.
func keeper(at site.Site) (process.Spec, error) {
	driver, err := os.Executable()
	if err != nil {
		return process.Spec{}, fmt.Errorf("find the program of %s: %w", Keeper, err)
	}
	return spec(Keeper, driver, "keep", "--state="+at.State, "--cache="+at.Cache, "--source="+at.Source), nil
}

// Keep starts every component again that ended by itself, until the context
// ends. Elsewhere a kubelet does that for the pods of a control plane:
// kube-scheduler 1.36 was seen to end after its API server restarted, and no
// pod was placed from then on. Each restart is told in a line, with the end of
// the component's log.
func Keep(ctx context.Context, at site.Site, tell func(format string, args ...any)) error {
	ticks := time.NewTicker(keepEvery)
	defer ticks.Stop()
	ended := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		for _, name := range Components {
			of, gone := process.Gone(at, name)
			if again := gone && ended[name] == of; !again {
				delete(ended, name)
				if gone {
					ended[name] = of // seen twice: the file may be half written
				}
				continue
			}
			delete(ended, name)
			tell("%s (process %s) ended and is started again; its last lines:\n%s", name, of, process.Tail(at.Log(name), keptLines))
			spec, err := named(at, name)
			if err != nil {
				return err
			}
			if _, err := process.Start(at, spec); err != nil {
				tell("start %s again: %v", name, err)
			}
		}
	}
}

// Kept is Healthy with the time in which the keeper starts again what ended.
func Kept(ctx context.Context, at site.Site, client *api.Client) error {
	ctx, cancel := context.WithTimeout(ctx, keptWithin)
	defer cancel()
	for {
		err := Healthy(ctx, at, client)
		if err == nil || !process.Alive(at, Keeper) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(keepEvery):
		}
	}
}

// keptWithin is longer than the keeper and any component need.
const keptWithin = 15 * time.Second

// keptLines are enough for the stack of what ended.
const keptLines = 40
