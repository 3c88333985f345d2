package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// troubledStore is a store that is in one trouble after the other.
type troubledStore struct {
	storetest.Fault

	trouble atomic.Pointer[string]
}

// What happens to what is put.
const (
	storeFine     = "fine"
	storeSlow     = "slow"
	storeAway     = "away"
	storeFull     = "full"
	storeSilent   = "stores it, and the answer is lost"
	storeForgets  = "answers that it is stored, and loses it"
	storeTroubles = 2 * time.Second
)

func newTroubledStore(t *testing.T) *troubledStore {
	t.Helper()
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	s := &troubledStore{Fault: storetest.Fault{Store: dir}}
	s.is(storeFine)
	s.Before = func(c storetest.Call) error {
		switch *s.trouble.Load() {
		case storeSlow:
			time.Sleep(400 * time.Millisecond)
		case storeAway:
			return storetest.ErrFault
		case storeFull:
			if c.Name == "put" {
				return store.ErrFull
			}
		}
		return nil
	}
	s.After = func(c storetest.Call) error {
		if c.Name != "put" {
			return nil
		}
		switch *s.trouble.Load() {
		case storeSilent:
			return errors.New("the connection is closed")
		case storeForgets:
			return dir.Delete(t.Context(), c.Key)
		}
		return nil
	}
	return s
}

func (s *troubledStore) is(trouble string) { s.trouble.Store(&trouble) }

// run makes one trouble after the other until the context is done.
func (s *troubledStore) run(ctx context.Context) {
	defer s.is(storeFine)
	for ctx.Err() == nil {
		for _, trouble := range []string{storeSlow, storeAway, storeFine, storeSilent, storeForgets, storeFull} {
			s.is(trouble)
			pause(ctx, storeTroubles)
		}
	}
}
