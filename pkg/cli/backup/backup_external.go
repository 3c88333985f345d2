package backup

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backupExternal backs up a database that something else made. There is no
// cluster to record it on, and no lease to hold: nothing is changed but the
// repository. A repeat makes another backup.
func backupExternal(ctx context.Context, f *command.Factory, c *command.Change, flags *command.ExternalFlags,
	repo string, verify bool) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	o, err := flags.Open(ctx, f)
	if err != nil {
		return err
	}
	defer func() { _ = o.Close() }()
	at, err := f.Location(repo, nil)
	if err != nil {
		return err
	}
	id, err := repository.NewID(o.Title(), f.Now(), f.Random)
	if err != nil {
		return err
	}
	namespace, err := f.Namespace()
	if err != nil {
		return err
	}
	step := ops.Step{ID: "backup/" + id, Action: ops.ActionBackup, Title: fmt.Sprintf("Back up %s to %s", o.Title(), at),
		Risk: ops.RiskNone, Touches: []string{"backup/" + id}}
	plan := ops.Plan{Verb: "backup", Cluster: o.Title(), Steps: []ops.Step{step}}
	in := command.Intent{Namespace: namespace, Subject: "backup/" + id, Verbed: "created",
		Next: command.DisplayName + " backup verify " + id + " --repository " + at.String()}
	switch {
	case c.Planning():
		return c.PrintPlan(in, &planner.Prepared{Plan: plan})
	case c.DryRun != command.DryRunNone:
		if err := c.ShowPlan(in, plan, true); err != nil {
			return err
		}
		if c.DryRun == command.DryRunServer {
			f.Note("not rehearsed: %s (%s)", step.Title, command.Unrehearsed(step))
		}
		in.Verbed, in.Next = "created (dry run)", ""
		return c.Report(ctx, in, nil, nil)
	}
	r, err := f.Clients.Repository(ctx, namespace, at, f.HelperImage("", nil))
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	m, err := c.Stream(ctx, plan, func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error) {
		return o.Backup(ctx, r, id, report)
	})
	if err != nil {
		return err
	}
	if verify {
		if m, err = verifyExternal(ctx, c, m, r); err != nil {
			return err
		}
		in.Verbed = "created and verified"
		in.Next = command.DisplayName + " restore NAME --from " + id + " --repository " + at.String()
	}
	if !c.Out.Human() {
		return c.Out.Print(f.Streams.Out, "Backup", m)
	}
	return c.Report(ctx, in, nil, nil)
}

// verifyExternal restores the backup into a throw-away member, like backup verify.
func verifyExternal(ctx context.Context, c *command.Change, m repository.Manifest,
	r repository.Repository) (repository.Manifest, error) {
	in, err := verifyIntent(ctx, c.Factory, m, r.URL(), "")
	if err != nil {
		return m, err
	}
	if err := c.Verify(ctx, in, verifyPlan(m, repository.LevelRestorable), r, m, repository.LevelRestorable); err != nil {
		return m, err
	}
	return r.Get(ctx, m.ID)
}
