package ops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Verification restores one backup into a throw-away member and compares,
// without a record: its cluster may be long gone. It leaves nothing behind but
// the stamp; a killed one leaves a pod that the next run uses or its own
// deadline ends.
type Verification struct {
	Live     *Live
	Reporter Reporter
	Stop     <-chan struct{}
}

// Run returns when the backup is proven, or why it is not.
func (v *Verification) Run(ctx context.Context, repo repository.Repository, id string) error {
	m, err := repo.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("find backup %s: %w", id, err)
	}
	step := Step{ID: "verify-backup/" + id, Action: ActionVerify, Title: "Restore " + id + " into a throw-away member and compare", Deadline: streamDeadline}
	ctx, cancel := context.WithTimeout(ctx, step.Deadline)
	defer cancel()
	go func() {
		select {
		case <-v.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	began := time.Now()
	v.Reporter.Started(step)
	err = v.until(ctx, repo, m, step)
	v.Reporter.Done(step, time.Since(began), err)
	return err
}

// until takes turns while the throw-away member is not ready.
func (v *Verification) until(ctx context.Context, repo repository.Repository, m repository.Manifest, step Step) error {
	owner := v.owner(ctx, m)
	tick := time.NewTicker(firstBackoff)
	defer tick.Stop()
	why := ""
	for {
		facts, err := v.Live.Client.Facts(ctx, owner)
		if err == nil {
			err = v.Live.VerifyBackup(ctx, State{Now: v.Live.Client.Now(), Cluster: owner, Kube: facts}, repo, m.ID,
				func(n, total int64) { v.Reporter.Progress(step, n, total) })
		}
		if !errors.Is(err, engine.ErrNotReady) {
			return err
		}
		if why != err.Error() {
			why = err.Error()
			v.Reporter.Waiting(step, why)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &Error{Kind: Interrupted, Message: "the verification was stopped", Hint: "the same command verifies again", Err: ctx.Err()}
		}
	}
}

// owner is the cluster the backup came from, or its mere name if it is gone.
func (v *Verification) owner(ctx context.Context, m repository.Manifest) *v1alpha1.DatabaseCluster {
	if c, err := v.Live.Store.GetCluster(ctx, v.Live.Namespace, m.Cluster); err == nil {
		return c
	}
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = m.Cluster, v.Live.Namespace
	c.Spec = v1alpha1.DatabaseClusterSpec{Engine: m.Engine, Version: m.Version}
	if w := v.Live.Wanted; w != nil {
		c.Spec.Registry, c.Spec.HelperImage = w.Spec.Registry, w.Spec.HelperImage
	}
	c.Status.Formation = &v1alpha1.Formation{}
	return c
}
