package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// mode says what a changing command is built for: to do it, or as a child of
// plan, where it only shows what would be done.
type mode int

const (
	perform mode = iota
	planOnly
)

// The default bounds of a command; what moves data or restarts members takes longer.
const (
	shortTimeout = 5 * time.Minute
	longTimeout  = 30 * time.Minute
)

// change is what all commands that change something have in common.
type change struct {
	f              *Factory
	mode           mode
	out            *output
	dryRun         string
	progress       string
	timeout        time.Duration
	yes            bool
	errorUnchanged bool
}

// intent is one change, ready to be looked at, asked about and performed.
type intent struct {
	namespace string
	engine    engine.Engine
	request   planner.Request
	// subject is TYPE/name; verbed says what became of it.
	subject, verbed string
	// ask is set where something may be lost.
	ask func(*planner.Prepared) (question, error)
	// next is the command to type afterwards.
	next string
	// settled corrects subject and next once the record is known: a command
	// that continues an operation finds its choices made already.
	settled func(*intent, *v1alpha1.Operation)
	// operation prints the record rather than the cluster under -o.
	operation bool
}

func newChange(f *Factory, m mode) *change {
	return &change{f: f, mode: m, out: newOutput(formatName)}
}

// addTo defines the common flags. asks adds --yes.
func (c *change) addTo(cmd *cobra.Command, timeout time.Duration, asks bool) {
	flags := cmd.Flags()
	flags.DurationVar(&c.timeout, "timeout", timeout, "How long the whole operation may take, such as 90s or 10m. It can be continued afterwards.")
	if c.mode == planOnly {
		c.out = newOutput()
		c.out.addTo(cmd)
		c.without(cmd, asks)
		return
	}
	c.out.addTo(cmd)
	flags.StringVar(&c.dryRun, "dry-run", dryRunNone, "none, client (nothing is written; the plan is shown) or server (the API server also checks what would be written).")
	flags.Lookup("dry-run").NoOptDefVal = dryRunClient
	flags.StringVar(&c.progress, "progress", progressAuto, "How progress is shown on stderr: auto, plain, json or none.")
	flags.BoolVar(&c.errorUnchanged, "error-unchanged", false, "Exit with code 3 if there was nothing to do.")
	if asks {
		flags.BoolVarP(&c.yes, "yes", "y", false, "Don't ask for confirmation.")
	}
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("progress", cobra.FixedCompletions(progressModes(), cobra.ShellCompDirectiveNoFileComp))
}

// without takes the flags that say how a change is carried out, and does
// nothing with them: a plan is asked for by the line that would do it.
func (c *change) without(cmd *cobra.Command, asks bool) {
	flags := cmd.Flags()
	names := []string{"progress", "error-unchanged"}
	flags.String("progress", "", "")
	flags.Bool("error-unchanged", false, "")
	if asks {
		names = append(names, "yes")
		flags.BoolP("yes", "y", false, "")
	}
	for _, name := range names {
		_ = flags.MarkHidden(name)
	}
}

// check judges the common flags before anything is read.
func (c *change) check() error {
	if err := c.out.check(); err != nil {
		return err
	}
	if c.timeout <= 0 {
		return misuse("--timeout must be longer than nothing")
	}
	if c.mode == planOnly {
		return nil
	}
	if err := oneOf("progress", c.progress, progressModes()...); err != nil {
		return err
	}
	return oneOf("dry-run", c.dryRun, dryRunNone, dryRunClient, dryRunServer)
}

// begin starts a change of a cluster that exists: it judges the common flags,
// finds the cluster, and fills in what all such changes share. The command adds
// what it wants, what became of it, and what to ask.
func (c *change) begin(ctx context.Context, verb v1alpha1.Verb, args []string) (*target, intent, error) {
	if err := c.check(); err != nil {
		return nil, intent{}, err
	}
	t, err := c.f.target(ctx, args)
	if err != nil && verb == v1alpha1.VerbRepair {
		t, err = c.f.lost(ctx, args, err)
	}
	if err != nil {
		return nil, intent{}, err
	}
	in := intent{namespace: t.namespace, engine: t.engine, request: planner.Request{Operation: c.f.operation(ctx, verb, t.cluster.Name)},
		subject: t.subject(), next: displayName + " status " + t.cluster.Name}
	if t.lost {
		in.request.Cluster = t.cluster
	}
	return t, in, nil
}

// run carries out an intent, or shows what it would come to.
func (c *change) run(ctx context.Context, in intent) error {
	if c.mode == planOnly || c.dryRun != dryRunNone {
		return c.preview(ctx, in)
	}
	before, err := c.confirm(ctx, in)
	if err != nil {
		return c.settle(in, err)
	}
	op, err := c.perform(ctx, in, func(ctx context.Context, r *Runner) (*v1alpha1.Operation, error) {
		return r.Run(ctx, in.namespace, in.request)
	})
	if err != nil {
		return c.settle(in, err)
	}
	return c.report(ctx, in, op, before)
}

// perform runs with a reporter, a deadline, and a gentle way to stop.
func (c *change) perform(ctx context.Context, in intent, work func(context.Context, *Runner) (*v1alpha1.Operation, error)) (*v1alpha1.Operation, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stop := make(chan struct{})
	reporter := c.f.newReporter(c.progress)
	defer reporter.Close()
	defer c.f.gently(func() {
		reporter.Note("Stopping at the next safe point. Press Ctrl-C again to leave at once; either way the same command continues.")
		close(stop)
	})()
	r, err := c.f.Clients.Runner(RunnerOptions{Engine: in.engine, Wanted: in.request.Cluster, Reporter: reporter, Stop: stop})
	if err != nil {
		return nil, err
	}
	return work(ctx, r)
}

// confirm asks where something may be lost, and returns the cluster as it is.
func (c *change) confirm(ctx context.Context, in intent) (*v1alpha1.DatabaseCluster, error) {
	if in.ask == nil {
		return nil, nil
	}
	p, err := c.prepare(ctx, in, kube.DryRunClient)
	if err != nil {
		return nil, err
	}
	if p.Plan.Unchanged() && p.Continues == nil {
		return p.State.Cluster, nil
	}
	q, err := in.ask(p)
	if err != nil {
		return nil, err
	}
	if c.yes {
		return p.State.Cluster, nil
	}
	return p.State.Cluster, c.f.confirm(ctx, in, q)
}

func (c *change) prepare(ctx context.Context, in intent, mode kube.DryRun) (*planner.Prepared, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := c.f.Clients.Runner(RunnerOptions{Engine: in.engine, Wanted: in.request.Cluster, Reporter: ops.Silent{}, DryRun: mode})
	if err != nil {
		return nil, err
	}
	return r.Prepare(ctx, in.namespace, in.request)
}

// settle turns "nothing to do" into success, unless the person wants to know.
func (c *change) settle(in intent, err error) error {
	if ops.KindOf(err) != ops.Unchanged {
		return err
	}
	if c.out.format() == "" {
		fmt.Fprintf(c.f.Streams.Out, "%s unchanged\n", in.subject)
	} else if c.out.name() {
		fmt.Fprintln(c.f.Streams.Out, in.subject)
	} else if err := c.printCluster(context.Background(), in, nil); err != nil {
		return err
	}
	if c.errorUnchanged {
		return &outcome{ExitUnchanged}
	}
	return nil
}

// report prints what became of the subject, and what to type next.
func (c *change) report(ctx context.Context, in intent, op *v1alpha1.Operation,
	before *v1alpha1.DatabaseCluster) error {
	if in.settled != nil && op != nil {
		in.settled(&in, op)
	}
	switch {
	case c.out.name():
		fmt.Fprintln(c.f.Streams.Out, in.subject)
		return nil
	case c.out.human():
		fmt.Fprintf(c.f.Streams.Out, "%s %s\n", in.subject, in.verbed)
		if in.next != "" {
			c.f.note("next: %s", in.next)
		}
		return nil
	case in.operation:
		return c.out.print(c.f.Streams.Out, kindOperation, op)
	}
	return c.printCluster(ctx, in, before)
}

// printCluster prints the cluster as it is now, or as it was if it is gone.
func (c *change) printCluster(ctx context.Context, in intent, before *v1alpha1.DatabaseCluster) error {
	store, err := c.f.Clients.Store(kube.DryRunClient)
	if err != nil {
		return err
	}
	cluster, err := store.GetCluster(ctx, in.namespace, in.request.Operation.Cluster)
	if errors.Is(err, kube.ErrNotFound) && before != nil {
		cluster, err = before, nil
	}
	if err != nil {
		return err
	}
	return c.out.print(c.f.Streams.Out, kindCluster, cluster)
}
