package operator

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// offeredEvery is how often an operator checks whether it may read objects that
// ask for backups, as long as it may not.
const offeredEvery = 5 * time.Second

// offered has objects that ask for backups be managed once there can be
// any. Until then an operator does without them: its definitions or its rights
// may be older than itself, and a cache that can't be filled would end it.
type offered struct {
	api client.Reader
	// namespaces are those that are managed; "" is all of them.
	namespaces []string
	// fill has a cache of them filled, and wake has them wake the reconciler.
	fill func(context.Context) error
	wake func() error
	yes  atomic.Bool
}

// now reports whether there may be such objects; nil never does.
func (o *offered) now() bool { return o != nil && o.yes.Load() }

// Start implements manager.Runnable.
func (o *offered) Start(ctx context.Context) error {
	for told := ""; ; {
		err := o.look(ctx)
		if err == nil {
			return nil
		}
		if err.Error() != told {
			told = err.Error()
			ctrllog.Log.Info("DatabaseBackups are not watched", "why", told, "hint",
				"kubectl dbop operator upgrade brings definitions and rights of this version")
		}
		timer := time.NewTimer(offeredEvery)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// observe asks for one object in each namespace, and if that may be has all of
// them watched from then on.
func (o *offered) look(ctx context.Context) error {
	for _, namespace := range o.namespaces {
		if err := o.api.List(ctx, &v1alpha1.DatabaseBackupList{}, client.InNamespace(namespace),
			client.Limit(1)); err != nil {
			return fmt.Errorf("list databasebackups: %w", err)
		}
	}
	if err := o.fill(ctx); err != nil {
		return fmt.Errorf("watch databasebackups: %w", err)
	}
	o.yes.Store(true) // before the first of them wakes anybody
	if err := o.wake(); err != nil {
		o.yes.Store(false)
		return fmt.Errorf("watch databasebackups: %w", err)
	}
	return nil
}
