package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// reconciliation is one reconcile.
type reconciliation struct {
	*Reconciler
	key     types.NamespacedName
	tracker *tracker
	custom  *v1alpha1.DatabaseCluster
	charge  policy.Input
	report  sheet
	// over is an operation that just ended: the next visit tells how things are.
	over bool
	// well is a cluster of which nothing is wanted and which lacks nothing.
	well bool
	// asked are the objects that ask for backups and got no last answer yet.
	asked []asked
	// turnedDown: one of them just was, which says nothing about the cluster.
	turnedDown bool
}

// pay reads, asks what comes next, and does it.
func (v *reconciliation) pay(ctx context.Context) (time.Duration, error) {
	if err := v.read(ctx, v.returned.stale(time.Now())); err != nil {
		return 0, err
	}
	about := v.about()
	if wait := v.tracker.waits(time.Now(), about); wait > 0 {
		return wait, nil
	}
	again, err := v.move(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		v.tracker.close(ctx)
		return lastDelay, nil // everything in it goes, and nothing can be made any more
	case err == nil && v.turnedDown:
	case err == nil:
		v.tracker.well()
	default:
		v.tracker.close(ctx)
		again = v.tracker.fail(time.Now(), v.about())
		v.fail(err)
	}
	if later := v.answer(ctx); later > 0 && (again == 0 || later < again) {
		again = later
	}
	if err := v.publish(ctx); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	return again, nil
}

// read gathers what is decided upon, custom resources from the cache unless
// they are to be fresh. While an operation is in the works its session knows
// the record.
func (v *reconciliation) read(ctx context.Context, fresh bool) error {
	from, definition := client.Reader(v.Custom), ""
	if fresh {
		from = v.Fresh
		// Before the object is read: one that is still there belongs to this definition, or to a later one.
		var err error
		if definition, err = v.Definition(ctx); err != nil {
			return err
		}
	}
	c := &v1alpha1.DatabaseCluster{}
	err := from.Get(ctx, v.key, c)
	switch {
	case apierrors.IsNotFound(err):
		c = nil
	case err != nil:
		return fmt.Errorf("read databasecluster %s: %w", v.key, err)
	}
	v.custom = c
	v.charge = policy.Input{Custom: c, Definition: definition, Now: time.Now()}
	v.charge.Hindered = time.Now().Before(v.tracker.hindrance.until)
	if s := v.tracker.session; s != nil && s.Seen().Cluster != nil && runner.ScopeOf(s.Operation()) == lease.Cluster {
		v.charge.Record, v.charge.Active = s.Seen().Cluster, s.Operation()
		v.tracker.compare(&v.charge)
		v.resolve()
		return v.askedFor(ctx, fresh)
	}
	v.charge.Record, err = v.Store.GetCluster(ctx, v.key.Namespace, v.key.Name)
	switch {
	case errors.Is(err, store.ErrDamaged):
		v.charge.Damaged = err
	case err != nil && !errors.Is(err, kube.ErrNotFound):
		return err
	}
	if v.charge.Record == nil && c != nil && (fresh || v.charge.Damaged != nil) {
		if v.charge.Kept, err = v.Kept(ctx, v.key.Namespace, v.key.Name); err != nil {
			return err
		}
	}
	flight, err := runner.FlightOf(ctx, v.Store, v.key.Namespace, v.key.Name)
	if err != nil {
		return err
	}
	v.charge.Active, v.charge.Backup = flight.Ordinary, flight.Backup
	v.tracker.compare(&v.charge)
	v.resolve()
	if !fresh && v.tracker.unlinked(v.charge) {
		return v.read(ctx, true)
	}
	return v.askedFor(ctx, fresh)
}

// resolve says what the object leaves to its engine.
func (v *reconciliation) resolve() {
	for _, c := range []**v1alpha1.DatabaseCluster{&v.charge.Custom, &v.charge.Deleted} {
		if *c == nil {
			continue
		}
		if e, err := v.engine((*c).Spec.Engine); err == nil { // one that is not known is told later
			*c = policy.Resolve(e, *c, v.charge.Record, v.HelperImage)
			v.charge.Agents = e.Capabilities().Agent
		}
	}
}

// about is what a failure is about: as long as that is the same, trying again is in no hurry. An operation that
// somebody else wrote down meanwhile is something else.
func (v *reconciliation) about() string {
	out := ""
	if v.custom != nil {
		out = fmt.Sprintf("%s %d", v.custom.UID, v.custom.Generation)
	}
	if v.charge.Active != nil {
		out += " " + v.charge.Active.Name
	}
	if v.charge.Backup != nil {
		out += " " + v.charge.Backup.Name
	}
	return out + v.asks()
}

// move does what policy.Next says.
func (v *reconciliation) move(ctx context.Context) (time.Duration, error) {
	if v.charge.Custom == nil {
		if again, err := v.orphaned(ctx); again > 0 || err != nil {
			return again, err
		}
	} else {
		v.tracker.gone = time.Time{}
	}
	m, err := policy.Next(v.charge)
	if m.Link || m.Request != nil {
		v.tracker.close(ctx) // a Job that takes a backup goes on
	}
	if (m.Request != nil || m.Link) && v.tracker.session == nil && v.charge.Custom != nil {
		// What is new, and whose a cluster is, is decided on the newest there is, not on a cache.
		if err := v.read(ctx, true); err != nil {
			return 0, err
		}
		if v.charge.Custom == nil {
			return goneFor, nil // the cache will know by then
		}
		m, err = policy.Next(v.charge)
	}
	if err != nil {
		if m.Rest {
			v.tracker.close(ctx)
			return 0, err
		}
		return v.nevertheless(ctx, err)
	}
	if s := v.tracker.session; s != nil && (!m.Continue || m.Back || v.charge.Active != nil &&
		s.Operation().Name != v.charge.Active.Name) {
		v.tracker.close(ctx) // a Job that takes a backup goes on
	}
	switch {
	case m.Rest:
		v.rest(ctx)
		return 0, nil
	case m.SyncSettings:
		if err := v.missingRepository(ctx); err != nil {
			return v.nevertheless(ctx, err)
		}
		return time.Millisecond, v.write(ctx, m)
	case m.Link, m.Confirm:
		return time.Millisecond, v.write(ctx, m)
	case m.Backup:
		return v.backUp(ctx)
	case m.Continue && v.tracker.session != nil:
		return v.attempt(ctx)
	case m.Continue:
		return v.open(ctx, nil)
	case m.Asked != "":
		return v.begin(ctx, m)
	case m.Request != nil:
		again, err := v.open(ctx, m.Request)
		if v.hindered(ctx, err) {
			return v.backUp(ctx)
		}
		if err != nil && v.tracker.session == nil {
			return v.nevertheless(ctx, err)
		}
		return again, err
	}
	return v.look(ctx, false)
}

// nevertheless reads a cluster of which something is wanted that can't be:
// that does not keep it from being seen, nor from being mended.
func (v *reconciliation) nevertheless(ctx context.Context, refused error) (time.Duration, error) {
	again, err := v.look(ctx, true)
	if v.tracker.session != nil {
		return again, err
	}
	return 0, errors.Join(refused, err)
}

// rest leaves a cluster alone.
func (v *reconciliation) rest(ctx context.Context) {
	v.tracker.close(ctx)
	if v.custom == nil {
		v.gauges.forget(v.key)
		v.trackers.forget(v.key)
		return
	}
	v.report.paused = v.custom.Spec.Paused
}

// orphaned makes sure that a custom resource is missing, and asks for its
// definition: both as they are now, not as a cache knows them.
func (v *reconciliation) orphaned(ctx context.Context) (time.Duration, error) {
	if v.charge.Record == nil || v.charge.Record.Annotations[v1alpha1.AnnotationCustom] == "" {
		return 0, nil
	}
	if v.tracker.gone.IsZero() {
		v.tracker.gone = time.Now()
	}
	if left := goneFor - time.Since(v.tracker.gone); left > 0 && v.charge.Record.Status.Deletion == nil {
		return left, nil
	}
	return 0, v.read(ctx, true)
}

// write makes the record say whose the cluster is, what counts from now on, or
// that its object was deleted.
func (v *reconciliation) write(ctx context.Context, m policy.NextAction) error {
	c := v.charge.Record.DeepCopy()
	switch {
	case m.Link:
		policy.Link(c, v.custom, v.charge.Definition)
	case m.SyncSettings:
		// Nobody has asked yet what the same edit asks for besides: the next visit tells.
		v.report.skip = true
		v.charge.SyncSettings(c)
	case m.Confirm:
		policy.ConfirmDeletion(c, v.charge.Deleted, time.Now())
	}
	err := v.Store.UpdateCluster(ctx, c)
	if errors.Is(err, kube.ErrConflict) {
		return nil // read again
	}
	return err
}
