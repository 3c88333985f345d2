// Package lease holds the lock on one cluster. It compares no clocks of two
// machines.
package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Options say how a lease is taken and kept. The zero value is sensible.
type Options struct {
	// Duration after which a lease that is not renewed counts as abandoned; 15 s by default.
	Duration time.Duration
	// RenewEvery is the pause between renewals, a third of Duration by default.
	RenewEvery time.Duration
	// Identity names the holder to people; user@host by default. What makes it
	// unique is added.
	Identity string
	// Operation says what the holder is about to do, for those who find the lease held.
	Operation string
	// Waiting is called once, when an abandoned lease is waited out.
	Waiting func(holder string, left time.Duration)
}

// Scope is what a lease keeps others from. A cluster has one lease of each.
type Scope string

// The scopes.
const (
	// Cluster: its holder alone begins operations, and carries the ordinary one out.
	Cluster Scope = "cluster"
	// Backup: its holder alone takes a backup, beside the ordinary operation.
	Backup Scope = "backup"
)

// name is that of the Lease object.
func (s Scope) name(cluster string) string {
	if s == Backup {
		return v1alpha1.BackupLease(cluster)
	}
	return v1alpha1.Record(cluster)
}

// Acquire takes a lease of a cluster and keeps it renewed until Release.
//
// Clocks of two machines are never compared: another holder's lease counts as
// abandoned only after it did not change for its whole duration while we
// watched. If it is renewed meanwhile, Acquire gives up with a HeldError. A
// holder that was a process of this very machine and is provably dead is
// replaced at once. A crash while holding leaves a lease that the next one
// takes over in this way.
func Acquire(ctx context.Context, c *kube.Client, namespace, cluster string, scope Scope, o Options) (Lease, error) {
	o = o.withDefaults()
	a := &acquisition{client: c, options: o, cluster: cluster, scope: scope, key: client.ObjectKey{Namespace: namespace,
		Name: scope.name(cluster)}, processes: processTable{root: "/proc"}}
	a.identity = o.Identity + identitySeparator + fresh()
	return a.run(ctx)
}

// identitySeparator is between the name for people and what makes it unique.
const identitySeparator = "/"

func (o Options) withDefaults() Options {
	if o.Duration <= 0 {
		o.Duration = 15 * time.Second
	}
	if o.RenewEvery <= 0 {
		o.RenewEvery = o.Duration / 3
	}
	if o.Identity == "" {
		o.Identity = userAtHost()
	}
	if o.Waiting == nil {
		o.Waiting = func(string, time.Duration) {}
	}
	return o
}

func userAtHost() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

func fresh() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails, see crypto/rand
	return hex.EncodeToString(b)
}

// acquisition is one attempt to become the holder.
type acquisition struct {
	client    *kube.Client
	options   Options
	cluster   string
	scope     Scope
	key       client.ObjectKey
	identity  string
	processes processTable
}

// errTaken: somebody was quicker, or what came of our write is unknown; read again.
var errTaken = errors.New("others were quicker every time")

// How often the lease is reached for before the last failure counts, and what
// lies between two times.
const (
	reaches    = 6
	reachPause = 200 * time.Millisecond
)

func (a *acquisition) run(ctx context.Context) (Lease, error) {
	for n := 1; ; n++ {
		l, err := a.try(ctx)
		if !errors.Is(err, errTaken) {
			return l, err
		}
		if n == reaches {
			return nil, fmt.Errorf("take the lease of cluster %s: %w", a.cluster, err)
		}
		timer := time.NewTimer(reachPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("take the lease of cluster %s: %w", a.cluster, context.Cause(ctx))
		}
	}
}

func (a *acquisition) try(ctx context.Context) (Lease, error) {
	found := &coordinationv1.Lease{}
	err := a.client.API.Get(ctx, a.key, found)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		return a.take(ctx,
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: a.key.Namespace, Name: a.key.Name}})
	case err != nil:
		return nil, fmt.Errorf("read the lease of cluster %s: %w", a.cluster, err)
	case holder(found) == "" || holder(found) == a.identity || a.holderDied(found):
		// Our own name is there if the answer to an earlier try was lost.
		return a.take(ctx, found)
	}
	abandoned, err := a.watch(ctx, found)
	if err != nil {
		return nil, err
	}
	return a.take(ctx, abandoned)
}

func (a *acquisition) holderDied(l *coordinationv1.Lease) bool {
	p, ok := decodeProcess(l.Annotations[kube.AnnotationProcess])
	return ok && a.processes.dead(p)
}

// watch reads another's lease until it was abandoned for its whole
// duration; a change in between is proof of life.
func (a *acquisition) watch(ctx context.Context, seen *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	duration := a.options.Duration
	if s := seen.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		duration = time.Duration(*s) * time.Second
	}
	// A third more than the interval of a living holder: one renewal may be slow.
	suspicious := min(a.options.RenewEvery*4/3, duration)
	began, told := time.Now(), false
	ticker := time.NewTicker(max(a.options.RenewEvery/5, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lease of cluster %s, held by %s: %w", a.cluster, displayHolder(seen),
				context.Cause(ctx))
		case <-ticker.C:
		}
		now := &coordinationv1.Lease{}
		switch err := a.client.API.Get(ctx, a.key, now); {
		case errors.Is(err, kube.ErrNotFound):
			return nil, errTaken
		case err != nil:
			return nil, fmt.Errorf("watch the lease of cluster %s: %w", a.cluster, err)
		case holder(now) == "" || a.holderDied(now):
			return now, nil
		case now.ResourceVersion != seen.ResourceVersion:
			return nil, a.held(now)
		}
		quiet := time.Since(began)
		if quiet >= duration {
			return now, nil
		}
		if !told && quiet >= suspicious {
			told = true
			a.options.Waiting(displayHolder(seen), duration-quiet)
		}
	}
}

func (a *acquisition) held(l *coordinationv1.Lease) error {
	e := &HeldError{Cluster: a.cluster, Scope: a.scope, Holder: displayHolder(l),
		Operation: l.Annotations[kube.AnnotationOperation]}
	if l.Spec.AcquireTime != nil {
		e.Since = l.Spec.AcquireTime.Time
	}
	return e
}

// take writes us into the lease, guarded by the resource version it was read with.
func (a *acquisition) take(ctx context.Context, l *coordinationv1.Lease) (Lease, error) {
	began := now()
	at := metav1.NewMicroTime(a.client.Now())
	seconds, transitions := int32(max(a.options.Duration, time.Second).Seconds()), int32(0)
	if l.Spec.LeaseTransitions != nil {
		transitions = *l.Spec.LeaseTransitions + 1
	}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &a.identity, LeaseDurationSeconds: &seconds, AcquireTime: &at,
		RenewTime: &at, LeaseTransitions: &transitions}
	l.Labels = kube.Merged(l.Labels, map[string]string{v1alpha1.LabelCluster: a.cluster,
		kube.LabelManagedBy: v1alpha1.FieldManager})
	l.Annotations = kube.Merged(l.Annotations, map[string]string{kube.AnnotationProcess: "",
		kube.AnnotationOperation: a.options.Operation})
	if p, ok := a.processes.self(); ok {
		l.Annotations[kube.AnnotationProcess] = p.encode()
	}
	var err error
	if l.ResourceVersion == "" {
		err = a.client.API.Create(ctx, l)
	} else {
		err = a.client.API.Update(ctx, l)
	}
	switch {
	case errors.Is(err, kube.ErrConflict), errors.Is(err, kube.ErrExists), errors.Is(err, kube.ErrNotFound):
		return nil, errTaken
	case err != nil && (kube.Transient(err) || errors.Is(err, kube.ErrTimeout)):
		return nil, fmt.Errorf("%w: %w", errTaken, err)
	case err != nil:
		return nil, fmt.Errorf("take the lease of cluster %s: %w", a.cluster, err)
	}
	return hold(ctx, a, l, began), nil
}

func holder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// displayHolder is the holder without what makes it unique.
func displayHolder(l *coordinationv1.Lease) string {
	h := holder(l)
	if i := strings.LastIndex(h, identitySeparator); i > 0 {
		return h[:i]
	}
	return h
}

// Lease is a held lock on one cluster, or on its backup. It renews itself until Release.
type Lease interface {
	// Check asks the API server whether the lease is still ours; ErrLost
	// if not, or if it could not be renewed for its whole duration. Called
	// before every step that can't be undone.
	Check(ctx context.Context) error
	// Lost is closed when the lease is gone.
	Lost() <-chan struct{}
	// Regain takes a lost lease back if nobody held it meanwhile, as after an
	// outage of the API server, in which nobody can; ErrLost otherwise.
	Regain(ctx context.Context) (Lease, error)
	// Release gives the lease back; a repeat does nothing.
	Release(ctx context.Context) error
}
