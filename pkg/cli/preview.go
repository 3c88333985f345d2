package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// The values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// preview shows the plan and writes nothing. As plan it prints to stdout, as
// a dry run it prints to stderr and leaves stdout to the result.
func (c *change) preview(ctx context.Context, in intent) error {
	p, err := c.prepare(ctx, in, kube.DryRunClient)
	if p == nil || (err != nil && p.Plan.Blocked == nil) {
		return c.settle(in, err)
	}
	if c.mode == planOnly {
		return c.printPlan(in, p)
	}
	writePlan(c.f.Streams.Err, c.f.errPalette(), in.subject, in.namespace, p.Plan, false)
	if b := p.Plan.Blocked; b != nil {
		return b.Error()
	}
	if p.Plan.Unchanged() {
		return c.settle(in, &ops.Error{Kind: ops.Unchanged})
	}
	suffix := "(dry run)"
	if c.dryRun == dryRunServer {
		suffix = "(server dry run)"
		if err := c.rehearse(ctx, in, p); err != nil {
			return err
		}
	}
	switch {
	case c.out.name():
		fmt.Fprintln(c.f.Streams.Out, in.subject)
	case c.out.human():
		fmt.Fprintf(c.f.Streams.Out, "%s %s %s\n", in.subject, in.verbed, suffix)
	case p.State.Cluster != nil:
		return c.out.print(c.f.Streams.Out, kindCluster, p.State.Cluster)
	}
	return nil
}

// printPlan is the result of plan. A plan that is blocked has printed why.
func (c *change) printPlan(in intent, p *planner.Prepared) error {
	if !c.out.human() {
		if err := c.out.print(c.f.results(), "Plan", p.Plan); err != nil {
			return err
		}
	} else {
		writePlan(c.f.results(), c.f.outPalette(), in.subject, in.namespace, p.Plan, true)
	}
	if b := p.Plan.Blocked; b != nil {
		return &outcome{exitCode(context.Background(), &ops.Error{Kind: b.Kind})}
	}
	return nil
}

// rehearse sends what the plan would write to Kubernetes as server dry runs.
// What belongs to the database, and what builds on objects that a dry run
// does not leave behind, can only be listed.
func (c *change) rehearse(ctx context.Context, in intent, p *planner.Prepared) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := c.f.Clients.Runner(RunnerOptions{Engine: in.engine, Wanted: in.request.Cluster, Reporter: ops.Silent{}, DryRun: kube.DryRunServer})
	if err != nil {
		return err
	}
	world := r.World(in.namespace, in.request.Operation.Cluster)
	defer func() { _ = world.Close() }()
	s := p.State
	for _, step := range p.Plan.Steps {
		if why := unrehearsed(step); why != "" {
			c.f.note("not rehearsed: %s (%s)", step.Title, why)
		} else {
			_, err := world.Perform(ctx, s, step, func(int64, int64) {})
			switch {
			case errors.Is(err, kube.ErrNotFound), errors.Is(err, engine.ErrReadOnly), errors.Is(err, engine.ErrNotReady):
				c.f.note("not rehearsed: %s (it builds on what a dry run does not leave behind)", step.Title)
			case err != nil:
				return fmt.Errorf("rehearse %q: %w", step.Title, err)
			default:
				c.f.note("accepted by the API server: %s", step.Title)
			}
		}
		s = planner.Predict(in.engine, s, step)
	}
	return nil
}

// unrehearsed says why a step has no server dry run; "" if it has one.
func unrehearsed(step ops.Step) string {
	switch step.Action {
	case ops.ActionWait:
		return "it only waits"
	case ops.ActionRegister, ops.ActionPromote, ops.ActionDeregister, ops.ActionHandOver, ops.ActionPrepare, ops.ActionDefragment,
		ops.ActionCredentials, ops.ActionEnsureUser, ops.ActionDeleteUser, ops.ActionEnableAuth, ops.ActionDisableAuth, ops.ActionProveAuth, ops.ActionRotate, ops.ActionDropOld:
		return "the database has no dry run"
	case ops.ActionBackup, ops.ActionVerify, ops.ActionLoad, ops.ActionSalvage, ops.ActionExamine:
		return "it moves data"
	case ops.ActionPrune:
		return "a repository has no dry run"
	case ops.ActionWriteRecord:
		return "it is written before the first step"
	case ops.ActionRecordFormed, ops.ActionNewEpoch, ops.ActionOldEpoch:
		return "it depends on what the members say"
	}
	return ""
}

// previewContinuation shows what is left of the operation in flight, or of
// stepping back from it.
func (c *change) previewContinuation(ctx context.Context, in intent, cancel bool) error {
	r, err := c.f.Clients.Runner(RunnerOptions{Engine: in.engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return err
	}
	p, err := r.PrepareResume(ctx, in.namespace, in.request.Operation.Cluster, cancel)
	if err != nil {
		return err
	}
	writePlan(c.f.Streams.Err, c.f.errPalette(), in.subject, in.namespace, p.Plan, true)
	if c.dryRun == dryRunServer {
		if err := c.rehearse(ctx, in, p); err != nil {
			return err
		}
	}
	if b := p.Plan.Blocked; b != nil {
		return b.Error()
	}
	if !c.out.human() {
		return c.out.print(c.f.Streams.Out, kindOperation, p.Continues)
	}
	return c.report(ctx, intent{subject: in.subject, verbed: in.verbed + " (dry run)"}, p.Continues, nil)
}
