package operator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// reader answers lists as it is told.
type reader struct {
	client.Reader
	namespaces []string
	err        error
}

func (r *reader) List(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	r.namespaces = append(r.namespaces, o.Namespace)
	if o.Limit != 1 {
		return errors.New("it reads all of them")
	}
	return r.err
}

// TestOffered: an operator that is newer than its definitions, or than its
// rights, does without, and with them as soon as they are there.
func TestOffered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &reader{err: &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "dbop.dev",
			Kind: v1alpha1.KindDatabaseBackup}}}
		o := &offered{api: api, namespaces: []string{"shop", "bank"}}
		filled, woken := 0, 0
		o.fill = func(context.Context) error { filled++; return nil }
		o.wake = func() error {
			if woken++; !o.now() {
				t.Error("it wakes somebody who takes no notice")
			}
			return nil
		}
		over := make(chan error)
		go func() { over <- o.Start(t.Context()) }()
		time.Sleep(10*offeredEvery + time.Second)
		if o.now() || filled > 0 || woken > 0 || len(api.namespaces) != 11 {
			t.Errorf("filled %d, woken %d after %d tries", filled, woken, len(api.namespaces))
		}
		api.err, api.namespaces = nil, nil
		time.Sleep(offeredEvery)
		if err := <-over; err != nil || !o.now() || filled != 1 || woken != 1 || len(api.namespaces) != 2 {
			t.Errorf("%v: filled %d, woken %d, asked in %v", err, filled, woken, api.namespaces)
		}
	})
}

// TestOfferedEnds with its operator.
func TestOfferedEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := &offered{api: &reader{err: errors.New("no")}, namespaces: []string{""}}
	if err := o.Start(ctx); err != nil || o.now() || (*offered)(nil).now() {
		t.Error(err)
	}
}

// TestWhatWakes: of objects that ask for backups those that come or go, and
// have no last answer; never a status.
func TestWhatWakes(t *testing.T) {
	t.Parallel()
	p := unanswered()
	object := func(generation int64, ended bool) *v1alpha1.DatabaseBackup {
		o := &v1alpha1.DatabaseBackup{Spec: v1alpha1.DatabaseBackupSpec{Cluster: "db"}}
		o.Namespace, o.Generation = "shop", generation
		if ended {
			o.Status.EndedAt = at(1)
		}
		return o
	}
	for name, row := range map[string]struct{ got, want bool }{
		"it comes":            {p.Create(event.TypedCreateEvent[*v1alpha1.DatabaseBackup]{Object: object(1, false)}), true},
		"it was there, ended": {p.Create(event.TypedCreateEvent[*v1alpha1.DatabaseBackup]{Object: object(1, true)}), false},
		"its status": {p.Update(event.TypedUpdateEvent[*v1alpha1.DatabaseBackup]{ObjectOld: object(1, false),
			ObjectNew: object(1, false)}), false},
		"somebody deletes it": {p.Update(event.TypedUpdateEvent[*v1alpha1.DatabaseBackup]{ObjectOld: object(1, false),
			ObjectNew: object(2, false)}), true},
		"it goes before time": {p.Delete(event.TypedDeleteEvent[*v1alpha1.DatabaseBackup]{Object: object(1,
			false)}), true},
		"it goes when all was": {p.Delete(event.TypedDeleteEvent[*v1alpha1.DatabaseBackup]{Object: object(1,
			true)}), false},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v", name, row.got)
		}
	}
	if got := askedOf(t.Context(), object(1, false)); len(got) != 1 || got[0].String() != "shop/db" {
		t.Errorf("wakes %v", got)
	}
}
