package diagnostics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// How many clusters are observed at once, how long one observation may take in a
// list, and all of them together.
const (
	observedAtOnce   = 16
	observeOneWithin = 3 * time.Second
	observeAllWithin = 10 * time.Second
)

// observation is what was found out about one cluster of many.
type observation struct {
	target *clients.Target
	sheet  *statusSheet
	// err says why it was not found out.
	err error
}

// observeAll asks the members of many clusters, those that ask names.
func observeAll(ctx context.Context, f *command.Factory, clusters []v1alpha1.DatabaseCluster, within time.Duration,
	ask func(*v1alpha1.DatabaseCluster) bool) ([]observation, error) {
	store, err := f.Clients.Store(kube.DryRunClient)
	if err != nil {
		return nil, err
	}
	runners := map[string]*clients.Runner{}
	out := make([]observation, len(clusters))
	var all errgroup.Group
	all.SetLimit(observedAtOnce)
	for i := range clusters {
		c := &clusters[i]
		l := &out[i]
		l.target = &clients.Target{Namespace: c.Namespace, Cluster: c, Store: store}
		if !ask(c) {
			continue
		}
		if l.target.Engine, l.err = f.EngineNamed(c.Spec.Engine); l.err != nil {
			continue
		}
		if runners[c.Spec.Engine] == nil {
			if runners[c.Spec.Engine],
				err = f.Clients.Runner(
				clients.RunnerOptions{Engine: l.target.Engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient}); err != nil {
				return nil, err
			}
		}
		world := runners[c.Spec.Engine].Cluster(c.Namespace, c.Name)
		all.Go(func() error {
			defer func() { _ = world.Close() }()
			l.ask(ctx, f, world, within)
			return nil
		})
	}
	return out, all.Wait()
}

// ask observes once.
func (l *observation) ask(ctx context.Context, f *command.Factory, world ops.Cluster, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	sheet, err := observeStatus(ctx, f, l.target, world, within, operated(ctx, f, l.target))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		l.err = err
		return
	}
	l.sheet = &sheet
}

// state is how the cluster is in one word. Of one whose members nobody asked,
// because none runs, the record tells.
func (l *observation) state() string {
	c := l.target.Cluster
	switch {
	case c.Spec.Stopped:
		return "Stopped"
	case c.Status.Bootstrap == nil || c.Status.Bootstrap.ClusterID == "":
		return "Forming"
	case l.err != nil:
		return "Unknown"
	case l.sheet == nil:
		return title(health.Down)
	}
	return title(l.sheet.Verdict.Level)
}

func title(level health.Level) string { return strings.ToUpper(string(level[:1])) + string(level[1:]) }

// printProblems writes what is wrong with those that are not healthy.
func printProblems(w io.Writer, paint printer.Palette, found []observation, all bool) {
	for _, l := range found {
		name := l.target.Subject()
		if all {
			name += " in namespace " + l.target.Namespace
		}
		switch {
		case l.err != nil:
			fmt.Fprintf(w, "\n%s: %s\n", name, printer.OneLine(l.err.Error()))
		case l.sheet != nil && l.sheet.Verdict.Level != health.Healthy:
			fmt.Fprintf(w, "\n%s: %s\n", name, printer.OneLine(l.sheet.Verdict.Headline))
			for _, p := range l.sheet.Verdict.Problems {
				fmt.Fprintf(w, "  %s %s\n", paint.Yellow("!"), printer.OneLine(p))
			}
		}
	}
}

// worst is what the exit code of many observations says: the worst of the clusters, and
// where all that were seen are healthy, that some were not.
func worst(found []observation) error {
	level := health.Healthy
	var unseen []error
	for _, l := range found {
		switch {
		case l.err != nil:
			unseen = append(unseen, fmt.Errorf("observe cluster %s: %w", l.target.Cluster.Name, l.err))
		case l.sheet.Verdict.Level == health.Down, level == health.Healthy:
			level = l.sheet.Verdict.Level
		}
	}
	if level == health.Healthy {
		return errors.Join(unseen...)
	}
	return exit.Verdict(level)
}
