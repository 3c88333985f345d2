package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// The values of --dry-run.
const (
	DryRunNone   = "none"
	DryRunClient = "client"
	DryRunServer = "server"
)

// preview shows the plan and writes nothing. As plan it prints to stdout, as
// a dry run it prints to stderr and leaves stdout to the result.
func (c *Change) preview(ctx context.Context, in Intent) error {
	p, err := c.Prepare(ctx, in, kube.DryRunClient)
	if p == nil || (err != nil && p.Plan.Blocked == nil) {
		return c.Settle(in, err)
	}
	if c.Planning() {
		return c.PrintPlan(in, p)
	}
	if err := c.ShowPlan(in, p.Plan, false); err != nil {
		return err
	}
	if b := p.Plan.Blocked; b != nil {
		return b
	}
	if p.Plan.Unchanged() {
		return c.Settle(in, &ops.Error{Kind: ops.Unchanged})
	}
	suffix := "(dry run)"
	if c.DryRun == DryRunServer {
		suffix = "(server dry run)"
		if err := c.rehearse(ctx, in, p); err != nil {
			return err
		}
	}
	return c.rehearsed(in, suffix, p.State.Cluster)
}

// PreviewPause shows what a change comes to that only begins or lifts a pause, whose cluster is as it would be then.
func (c *Change) PreviewPause(in Intent, title string, cluster *v1alpha1.DatabaseCluster) error {
	if c.Planning() {
		return c.PrintPlan(in, &planner.Prepared{Plan: ops.Plan{Steps: []ops.Step{
			{ID: "pause", Action: ops.ActionWriteRecord, Risk: ops.RiskNone, Title: title}}}})
	}
	return c.rehearsed(in, "(dry run)", cluster)
}

// rehearsed is the result of a dry run.
func (c *Change) rehearsed(in Intent, suffix string, cluster *v1alpha1.DatabaseCluster) error {
	switch {
	case c.Out.Name():
		fmt.Fprintln(c.Factory.Streams.Out, in.Subject)
	case c.Out.Human():
		fmt.Fprintf(c.Factory.Streams.Out, "%s %s %s\n", in.Subject, in.Verbed, suffix)
	case cluster != nil:
		return c.Out.Print(c.Factory.Streams.Out, printer.KindCluster, cluster)
	}
	return nil
}

// PrintPlan is the result of plan. A plan that is blocked has printed why.
func (c *Change) PrintPlan(in Intent, p *planner.Prepared) error {
	var err error
	switch {
	case !c.Out.Human():
		err = c.Out.Print(c.Factory.Results(), "Plan", p.Plan)
	case c.Out.Name():
		for _, step := range p.Plan.Steps {
			fmt.Fprintf(c.Factory.Streams.Out, "step/%s\n", step.ID)
		}
	default:
		err = c.ShowPlan(in, p.Plan, true)
	}
	if err != nil {
		return err
	}
	if b := p.Plan.Blocked; b != nil {
		return exit.Outcome(exit.Code(context.Background(), &ops.Error{Kind: b.Kind}))
	}
	return nil
}

// rehearse sends what the plan would write to Kubernetes as server dry runs.
// What belongs to the database, and what builds on objects that a dry run
// does not leave behind, can only be listed.
func (c *Change) rehearse(ctx context.Context, in Intent, p *planner.Prepared) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := c.Factory.Clients.Runner(
		clients.RunnerOptions{Engine: in.Engine, Wanted: in.Request.Cluster, Reporter: ops.Silent{},
			DryRun: kube.DryRunServer})
	if err != nil {
		return err
	}
	world := r.Cluster(in.Namespace, in.Request.Operation.Cluster)
	defer func() { _ = world.Close() }()
	s := p.State
	for _, step := range p.Plan.Steps {
		if why := Unrehearsed(step); why != "" {
			c.Factory.Note("not rehearsed: %s (%s)", step.Title, why)
		} else {
			_, err := world.Perform(ctx, s, step, func(int64, int64) {})
			switch {
			case errors.Is(err, kube.ErrNotFound), errors.Is(err, engine.ErrReadOnly), errors.Is(err, engine.ErrNotReady):
				c.Factory.Note("not rehearsed: %s (it builds on what a dry run does not leave behind)", step.Title)
			case err != nil:
				return fmt.Errorf("rehearse %q: %w", step.Title, err)
			default:
				c.Factory.Note("accepted by the API server: %s", step.Title)
			}
		}
		s = planner.Predict(in.Engine, s, step)
	}
	return nil
}

// ShowPlan prints a plan for people: as the result of plan, else beside it.
func (c *Change) ShowPlan(in Intent, p ops.Plan, withBlock bool) error {
	w, paint := c.Factory.Streams.Err, c.Factory.ErrPalette()
	if c.Planning() {
		w, paint = c.Factory.Results(), c.Factory.OutPalette()
	}
	return WritePlan(w, paint, in.Subject, in.Namespace, p, withBlock, c.Out.Wide())
}

// Unrehearsed says why a step has no server dry run; "" if it has one.
func Unrehearsed(step ops.Step) string {
	switch step.Action {
	case ops.ActionWait:
		return "it only waits"
	case ops.ActionRegister, ops.ActionPromote, ops.ActionDeregister, ops.ActionHandOver, ops.ActionFailOver,
		ops.ActionCutOver, ops.ActionFollow, ops.ActionEndBack,
		ops.ActionHold, ops.ActionTakeBack, ops.ActionPrepare, ops.ActionDefragment,
		ops.ActionCredentials, ops.ActionEnsureUser, ops.ActionDeleteUser, ops.ActionEnableAuth, ops.ActionDisableAuth,
		ops.ActionProveAuth, ops.ActionInitialSQL, ops.ActionRotate, ops.ActionDropOld:
		return "the database has no dry run"
	case ops.ActionBackup, ops.ActionVerify, ops.ActionLoad, ops.ActionRecoverData, ops.ActionExamine,
		ops.ActionConvert, ops.ActionRevert:
		return "it moves data"
	case ops.ActionPrune:
		return "a repository has no dry run"
	case ops.ActionWriteRecord:
		return "it is written before the first step"
	case ops.ActionRecordFormed, ops.ActionNewIncarnation, ops.ActionOldIncarnation:
		return "it depends on what the members say"
	}
	return ""
}

// PreviewContinuation shows what is left of the operation in flight, or of
// stepping back from it.
func (c *Change) PreviewContinuation(ctx context.Context, in Intent, cancel bool) error {
	r, err := c.Factory.Clients.Runner(
		clients.RunnerOptions{Engine: in.Engine, Reporter: ops.Silent{}, DryRun: kube.DryRunClient})
	if err != nil {
		return err
	}
	p, err := r.PrepareResume(ctx, in.Namespace, in.Request.Operation.Cluster, cancel)
	if err != nil {
		return err
	}
	if err := c.ShowPlan(in, p.Plan, true); err != nil {
		return err
	}
	if c.DryRun == DryRunServer {
		if err := c.rehearse(ctx, in, p); err != nil {
			return err
		}
	}
	if b := p.Plan.Blocked; b != nil {
		return b
	}
	if !c.Out.Human() {
		return c.Out.Print(c.Factory.Streams.Out, printer.KindOperation, p.Continues)
	}
	return c.Report(ctx, Intent{Subject: in.Subject, Verbed: in.Verbed + " (dry run)"}, p.Continues, nil)
}
