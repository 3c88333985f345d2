package operator

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// open takes the lease, and the first attempt. Whether what is in flight is to be
// stepped back counts as it is then: the process that just asked for it has the lease until
// the custom resource says so too.
func (v *reconciliation) open(ctx context.Context, req *planner.Request) (time.Duration, error) {
	e, err := v.engineOf(req)
	if err != nil {
		return 0, err
	}
	var wanted *v1alpha1.DatabaseCluster
	if req != nil {
		wanted = req.Cluster
		if err := policy.Complete(e, req, time.Now(), rand.Reader); err != nil {
			return 0, err
		}
	}
	s, err := v.Runner(e, wanted, v.eventRecorder()).Open(ctx, v.key.Namespace, v.key.Name, req,
		func(op *v1alpha1.Operation) (bool, error) {
			if err := v.read(ctx, true); err != nil || v.custom == nil {
				return false, err
			}
			return v.charge.Back(op), nil
		})
	switch ops.KindOf(err) {
	case ops.Busy:
		v.report.busy(err)
		return busyEvery, nil
	case ops.Unchanged:
		return time.Millisecond, nil
	}
	if err != nil {
		return 0, err
	}
	v.tracker.session = s
	return v.attempt(ctx)
}

func (v *reconciliation) engineOf(req *planner.Request) (engine.Engine, error) {
	switch {
	case req != nil && req.Cluster != nil:
		return v.engine(req.Cluster.Spec.Engine)
	case v.charge.Record != nil:
		return v.engine(v.charge.Record.Spec.Engine)
	case v.custom != nil:
		return v.engine(v.custom.Spec.Engine)
	}
	return v.Engines[0], nil // only a record is left to close, which any engine can do
}

// attempt is one step of the operation in the works.
func (v *reconciliation) attempt(ctx context.Context) (time.Duration, error) {
	s := v.tracker.session
	done, again, err := s.Next(ctx)
	e, engineErr := v.engineOf(nil)
	if engineErr == nil {
		v.report.saw(e, s.Seen(), s.Why())
	}
	if errors.Is(err, runner.ErrRewritten) { // by a command that cancels the backup: it is taken up as it is now
		v.tracker.close(ctx)
		v.report.skip = true
		return time.Millisecond, nil
	}
	if err != nil {
		return 0, err
	}
	if done {
		v.eventRecorder().over(s.Operation())
		v.tracker.close(ctx)
		v.tracker.looked = time.Time{}
		// Whether more is wanted by now nobody has asked yet: the next visit tells.
		v.report.skip, v.over = true, true
		return time.Millisecond, nil
	}
	return max(again, time.Millisecond), nil
}

// observe sees how a cluster is that nobody works on, and has mended what can be;
// not too often, unless it has to be now.
func (v *reconciliation) look(ctx context.Context, now bool) (time.Duration, error) {
	c := v.charge.Record
	if c == nil {
		return 0, nil
	}
	if since := time.Since(v.tracker.looked); since < lookPause && !now {
		v.report.skip = true
		return lookPause - since, nil
	}
	e, err := v.engine(c.Spec.Engine)
	if err != nil {
		return 0, err
	}
	v.tracker.looked = time.Now()
	s, err := v.observe(ctx, e)
	if err != nil {
		return 0, err
	}
	v.report.saw(e, v.withBackup(s), v.why())
	o, err := policy.SelfHeal(e, s, nil)
	if o == nil && err == nil {
		if c.Spec.Stopped || health.Assess(e, s, planner.Verbs()).Database == health.Healthy {
			v.well = true
			return spread(v.key, idle(v.trackers.count())), nil
		}
		return sickEvery, nil
	}
	history, err := v.Store.ListOperations(ctx, v.key.Namespace, v.key.Name)
	if err != nil {
		return 0, err
	}
	if o, err = policy.SelfHeal(e, s, history); err != nil {
		return 0, err
	}
	v.tracker.close(ctx) // a Job that takes a backup goes on
	return v.open(ctx, &planner.Request{Operation: *o})
}

// idle is after how long a cluster that is well is observed again, for an
// operator of so many: what it spends on looking does not grow with them.
func idle(clusters int) time.Duration {
	return min(max(idleEvery, time.Duration(clusters)*idlePace), idleMost)
}

// spread is a duration up to a quarter longer, of each cluster its own: those
// that an operator observed together when it began are not due together for ever.
func spread(key types.NamespacedName, about time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key.String())) // never fails
	const parts = 1000
	return about + about/4*time.Duration(h.Sum32()%parts)/parts
}

func (v *reconciliation) observe(ctx context.Context, e engine.Engine) (ops.State, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	world := v.Runner(e, nil, ops.Silent{}).Cluster(v.key.Namespace, v.key.Name)
	defer func() { _ = world.Close() }()
	executor.ReadAll(world)
	return world.Observe(ctx)
}
