package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/progress"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// The default bounds of a command: what restarts members takes longer, and what moves data as long as its bytes move.
const (
	ShortTimeout  = 5 * time.Minute
	LongTimeout   = 30 * time.Minute
	StreamTimeout = workload.LongestStream
)

// Change is what all commands that change something have in common.
type Change struct {
	Factory        *Factory
	Out            *printer.Output
	DryRun         string
	progress       string
	Timeout        time.Duration
	Yes            bool
	errorUnchanged bool
	// plannable: plan can show what it would do.
	plannable bool
}

// Intent is one change, ready to be planned, confirmed and performed.
type Intent struct {
	Namespace string
	Engine    engine.Engine
	Request   planner.Request
	// Subject is TYPE/name; verbed says what became of it.
	Subject, Verbed string
	// Ask is set where something may be lost.
	Ask func(*planner.Prepared) (Question, error)
	// Next is the command to type afterwards.
	Next string
	// Settled corrects subject and next once the record is known: a command
	// that continues an operation finds its choices made already.
	Settled func(*Intent, *v1alpha1.Operation)
	// Operation prints the record rather than the cluster under -o.
	Operation bool
}

// NewChange is for a command whose steps plan can show.
func NewChange(f *Factory) *Change {
	c := NewAction(f)
	c.plannable = true
	return c
}

// NewAction is for a command that changes something without a plan of its own.
func NewAction(f *Factory) *Change {
	return &Change{Factory: f, Out: printer.NewOutput(printer.FormatName, printer.FormatWide)}
}

// Planning reports whether only the plan was requested.
func (c *Change) Planning() bool { return c.Factory.planning }

// AddTo defines the common flags. asks adds --yes.
func (c *Change) AddTo(cmd *cobra.Command, timeout time.Duration, asks bool) {
	if c.plannable {
		cmd.Annotations = map[string]string{plannable: ""}
	}
	c.Out.AddTo(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error { return c.check() }
	flags := cmd.Flags()
	flags.DurationVar(&c.Timeout, "timeout", timeout,
		"How long the whole operation may take, such as 90s or 10m. It can be continued afterwards.")
	flags.StringVar(&c.DryRun, "dry-run", DryRunNone, "none, client (nothing is written; the plan is shown) or server "+
		"(the API server also checks what would be written).")
	flags.Lookup("dry-run").NoOptDefVal = DryRunClient
	flags.StringVar(&c.progress, "progress", progress.Auto, "How progress is shown on stderr: auto, plain, json or none.")
	flags.BoolVar(&c.errorUnchanged, "error-unchanged", false, "Exit with code 3 if there was nothing to do.")
	if asks {
		flags.BoolVarP(&c.Yes, "yes", "y", false, "Don't ask for confirmation.")
	}
	completeWords(cmd, "dry-run", DryRunNone, DryRunClient, DryRunServer)
	completeWords(cmd, "progress", progress.Modes()...)
}

// completeWords suggests the words that a flag takes.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// check judges the common flags before anything is read.
func (c *Change) check() error {
	if err := c.Out.Check(); err != nil {
		return err
	}
	if c.Timeout <= 0 {
		return exit.Misuse("--timeout must be longer than nothing")
	}
	if err := OneOf("progress", c.progress, progress.Modes()...); err != nil {
		return err
	}
	return OneOf("dry-run", c.DryRun, DryRunNone, DryRunClient, DryRunServer)
}

// Begin starts a change of a cluster that exists: it finds
// the cluster and fills in what all such changes share. The command adds
// what it wants, what became of it, and what to ask.
func (c *Change) Begin(ctx context.Context, verb v1alpha1.Verb, args []string) (*clients.Target, Intent, error) {
	t, err := c.Factory.Target(ctx, args)
	if err != nil && verb == v1alpha1.VerbRepair {
		t, err = c.Factory.Lost(ctx, args, err)
	}
	if err != nil {
		return nil, Intent{}, err
	}
	in := Intent{Namespace: t.Namespace, Engine: t.Engine,
		Request: planner.Request{Operation: c.Factory.Operation(ctx, verb, t.Cluster.Name)},
		Subject: t.Subject(), Next: DisplayName + " status " + t.Cluster.Name}
	if t.Lost {
		in.Request.Cluster = t.Cluster
	}
	return t, in, nil
}

// Run carries out an intent, or shows what it would come to.
func (c *Change) Run(ctx context.Context, in Intent) error {
	if c.Planning() || c.DryRun != DryRunNone {
		return c.preview(ctx, in)
	}
	before, err := c.confirm(ctx, in)
	if err != nil {
		return c.Settle(in, err)
	}
	op, err := c.Perform(ctx, in, func(ctx context.Context, r *clients.Runner) (*v1alpha1.Operation, error) {
		return r.Run(ctx, in.Namespace, in.Request)
	})
	if err != nil {
		return c.Settle(in, err)
	}
	return c.Report(ctx, in, op, before)
}

// Perform runs with a reporter, a deadline, and a gentle way to stop.
func (c *Change) Perform(ctx context.Context, in Intent,
	work func(context.Context, *clients.Runner) (*v1alpha1.Operation, error)) (*v1alpha1.Operation, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	stop := make(chan struct{})
	reporter := c.Factory.newReporter(c.progress)
	defer reporter.Close()
	defer c.Factory.Gently(func() {
		reporter.Note(
			"Stopping at the next safe point. Press Ctrl-C again to leave at once; either way the same command continues.")
		close(stop)
	})()
	r, err := c.Factory.Clients.Runner(
		clients.RunnerOptions{Engine: in.Engine, Wanted: in.Request.Cluster, Reporter: reporter, Stop: stop})
	if err != nil {
		return nil, err
	}
	op, err := work(ctx, r)
	return op, overdue(ctx, err)
}

// confirm asks where something may be lost, and returns the cluster as it is.
func (c *Change) confirm(ctx context.Context, in Intent) (*v1alpha1.DatabaseCluster, error) {
	if in.Ask == nil {
		return nil, nil
	}
	p, err := c.Prepare(ctx, in, kube.DryRunClient)
	if err != nil {
		return nil, err
	}
	if p.Plan.Unchanged() && p.Continues == nil {
		return p.State.Cluster, nil
	}
	q, err := in.Ask(p)
	if err != nil {
		return nil, err
	}
	if c.Yes {
		return p.State.Cluster, nil
	}
	return p.State.Cluster, c.Factory.Confirm(ctx, in, q)
}

func (c *Change) Prepare(ctx context.Context, in Intent, mode kube.DryRun) (*planner.Prepared, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := c.Factory.Clients.Runner(
		clients.RunnerOptions{Engine: in.Engine, Wanted: in.Request.Cluster, Reporter: ops.Silent{}, DryRun: mode})
	if err != nil {
		return nil, err
	}
	p, err := r.Prepare(ctx, in.Namespace, in.Request)
	return p, overdue(ctx, err)
}

// Settle returns nil for "nothing to do", unless the person wants to know.
func (c *Change) Settle(in Intent, err error) error {
	if ops.KindOf(err) != ops.Unchanged {
		return err
	}
	if c.Out.Name() {
		fmt.Fprintln(c.Factory.Streams.Out, in.Subject)
	} else if c.Out.Human() {
		fmt.Fprintf(c.Factory.Streams.Out, "%s unchanged\n", in.Subject)
	} else if err := c.printCluster(context.Background(), in, nil); err != nil {
		return err
	}
	if c.errorUnchanged {
		return exit.Outcome(exit.Unchanged)
	}
	return nil
}

// Report prints what became of the subject, and what to type next.
func (c *Change) Report(ctx context.Context, in Intent, op *v1alpha1.Operation,
	before *v1alpha1.DatabaseCluster) error {
	if in.Settled != nil && op != nil {
		in.Settled(&in, op)
	}
	switch {
	case c.Out.Name():
		fmt.Fprintln(c.Factory.Streams.Out, in.Subject)
		return nil
	case c.Out.Human():
		fmt.Fprintf(c.Factory.Streams.Out, "%s %s\n", in.Subject, in.Verbed)
		if in.Next != "" {
			c.Factory.Note("next: %s", in.Next)
		}
		return nil
	case in.Operation:
		return c.Out.Print(c.Factory.Streams.Out, printer.KindOperation, op)
	}
	return c.printCluster(ctx, in, before)
}

// printCluster prints the cluster as it is now, or as it was if it is gone.
func (c *Change) printCluster(ctx context.Context, in Intent, before *v1alpha1.DatabaseCluster) error {
	store, err := c.Factory.Clients.Store(kube.DryRunClient)
	if err != nil {
		return err
	}
	cluster, err := store.GetCluster(ctx, in.Namespace, in.Request.Operation.Cluster)
	if errors.Is(err, kube.ErrNotFound) && before != nil {
		cluster, err = before, nil
	}
	if err != nil {
		return err
	}
	return c.Out.Print(c.Factory.Streams.Out, printer.KindCluster, cluster)
}
