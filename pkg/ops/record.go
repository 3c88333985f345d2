package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

// SaveGrace is how long the last write of a record may take after its caller is gone.
const SaveGrace = 5 * time.Second

// Stamp is a time as the record keeps it: to the second.
func Stamp(t time.Time) metav1.Time {
	at := metav1.NewTime(t)
	return at.Rfc3339Copy()
}

// SetFact writes down a fact about an operation in flight. A repeat changes nothing.
func SetFact(op *v1alpha1.Operation, key, value string) {
	if op.Status.Facts == nil {
		op.Status.Facts = map[string]string{}
	}
	op.Status.Facts[key] = value
}

// SaveRecord persists the status of a record. A repeat after an answer that
// got lost is a success: what is stored says the same already, and op carries
// its version again. A conflict over a record that nobody touched is none:
// an API server has other reasons for that word.
func SaveRecord(ctx context.Context, store store.Store, op *v1alpha1.Operation) error {
	for try := 1; ; try++ {
		err := store.UpdateOperation(ctx, op)
		if !errors.Is(err, kube.ErrConflict) || try == Attempts {
			return err
		}
		stored, getErr := store.GetOperation(ctx, op.Namespace, op.Name)
		switch {
		case getErr != nil:
			return errors.Join(err, getErr)
		case stored.ResourceVersion == op.ResourceVersion:
			continue
		case !equality.Semantic.DeepEqual(stored.Status, op.Status):
			return err
		}
		op.ResourceVersion = stored.ResourceVersion
		return nil
	}
}

// Retry repeats a write until the API server takes it, unless the error is
// final, or it said that it will not have what is written.
func Retry(ctx context.Context, write func() error, final ...error) error {
	began, pause := time.Now(), FirstBackoff
	for {
		err := write()
		over := func(f error) bool { return errors.Is(err, f) }
		_, denied := kube.Denied(err)
		if err == nil || denied || !Transient(err) || slices.ContainsFunc(final, over) ||
			time.Since(began) > OutageDeadline {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
		pause = min(2*pause, time.Second)
	}
}

// Transient reports whether trying again may help: everything but what is
// known to stay.
func Transient(err error) bool {
	var typed *Error
	var forbidden *kube.ForbiddenError
	var noNamespace *kube.NamespaceError
	switch {
	case errors.As(err, &noNamespace):
		return false
	case errors.As(err, &forbidden), errors.Is(err, engine.ErrRefused), errors.Is(err, engine.ErrNotSnapshot),
		errors.Is(err, engine.ErrReadOnly), errors.Is(err, lease.ErrLost), errors.Is(err, kube.ErrExists):
		return false
	case errors.As(err, &typed):
		return typed.Kind == NotYet
	}
	return !permanent(err)
}
