package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backupOutside backs up a database that something else made. There is no
// cluster to record it on, and no lease to hold: nothing is changed but the
// repository. A repeat makes another backup.
func backupOutside(ctx context.Context, f *Factory, c *change, flags *outsideFlags, repo string, verify bool) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	o, err := flags.open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	at, err := f.location(repo, nil)
	if err != nil {
		return err
	}
	id, err := repository.NewID(o.Title(), f.Now(), f.Random)
	if err != nil {
		return err
	}
	namespace, err := f.namespace()
	if err != nil {
		return err
	}
	step := ops.Step{ID: "backup/" + id, Action: ops.ActionBackup, Title: fmt.Sprintf("Back up %s to %s", o.Title(), at), Risk: ops.RiskNone, Touches: []string{"backup/" + id}}
	plan := ops.Plan{Verb: "backup", Cluster: o.Title(), Steps: []ops.Step{step}}
	in := intent{namespace: namespace, subject: "backup/" + id, verbed: "created", next: displayName + " backup verify " + id + " --repository " + at.String()}
	switch {
	case c.mode == planOnly:
		return c.printPlan(in, &planner.Prepared{Plan: plan})
	case c.dryRun != dryRunNone:
		writePlan(f.Streams.Err, f.errPalette(), in.subject, namespace, plan, true)
		if c.dryRun == dryRunServer {
			f.note("not rehearsed: %s (%s)", step.Title, unrehearsed(step))
		}
		in.verbed, in.next = "created (dry run)", ""
		return c.report(ctx, in, nil, nil)
	}
	r, err := f.Clients.Repository(ctx, namespace, at, f.helperImage("", nil))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	m, err := c.stream(ctx, plan, func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error) {
		return o.Backup(ctx, r, id, report)
	})
	if err != nil {
		return err
	}
	if verify {
		if m, err = c.verifyOutside(ctx, m, r); err != nil {
			return err
		}
		in.verbed = "created and verified"
		in.next = displayName + " restore NAME --from " + id + " --repository " + at.String()
	}
	if !c.out.human() {
		return c.out.print(f.Streams.Out, "Backup", m)
	}
	return c.report(ctx, in, nil, nil)
}

// stream makes a backup outside of an operation, and reports as a step of one does.
func (c *change) stream(ctx context.Context, plan ops.Plan,
	work func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error)) (repository.Manifest, error) {
	reporter := c.f.newReporter(c.progress)
	defer reporter.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.f.gently(func() { cancel(errInterrupted) })()
	step, began := plan.Steps[0], time.Now()
	reporter.Planned(plan)
	reporter.Started(step)
	m, err := work(ctx, func(n, total int64) { reporter.Progress(step, n, total) })
	if err != nil && errors.Is(context.Cause(ctx), errInterrupted) {
		err = errInterrupted
	}
	reporter.Done(step, time.Since(began), err)
	return m, err
}

// verifyOutside restores the backup into a throw-away member, like backup verify.
func (c *change) verifyOutside(ctx context.Context, m repository.Manifest,
	r repository.Repository) (repository.Manifest, error) {
	in, err := verifyIntent(ctx, c.f, m, r.URL(), "")
	if err != nil {
		return m, err
	}
	if err := c.verify(ctx, in, verifyPlan(m), r, m); err != nil {
		return m, err
	}
	return r.Get(ctx, m.ID)
}
