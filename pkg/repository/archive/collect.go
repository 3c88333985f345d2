package archive

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// abandonedAfter is how long an attempt without a manifest, or the log of a former incarnation, may get nothing before
// it is collected.
const abandonedAfter = 24 * time.Hour

// wipe deletes everything of an attempt but its manifest. ErrRetained if the store keeps some of it; all else goes.
func (a *Archive) wipe(ctx context.Context, s Scope, attempt string) error {
	var kept error
	for _, prefix := range []string{
		s.prefix(kindData) + attempt + "/", s.prefix(kindAttempt) + attempt + "/",
		s.prefix(kindProof) + attempt + "_", s.prefix(kindHold) + attempt + "_",
	} {
		err := a.deleteAll(ctx, prefix)
		if err != nil && !errors.Is(err, store.ErrRetained) {
			return err
		}
		kept = cmp.Or(kept, err)
	}
	return kept
}

// deleteAll removes every object under a prefix. ErrRetained if the store keeps one; all others go.
func (a *Archive) deleteAll(ctx context.Context, prefix string) error {
	var kept error
	for o, err := range store.All(ctx, a.store, prefix) {
		if err == nil {
			err = a.store.Delete(ctx, o.Key)
		}
		if err != nil && !errors.Is(err, store.ErrRetained) {
			return err
		}
		kept = cmp.Or(kept, err)
	}
	return kept
}

// leftover is what there is of an attempt without a manifest.
type leftover struct {
	last    time.Time
	objects int
	// unfinished: there is more than proofs and holds of a backup that is gone.
	unfinished bool
}

// collect deletes what belongs to no backup, once nothing was added to it for a day and no hold keeps it. What the
// store retains goes later. It says how many objects that were, and whether something of an unfinished backup is left.
func (a *Archive) collect(ctx context.Context, s Scope, now time.Time) (collected int, left bool, err error) {
	all, err := a.leftovers(ctx, s)
	if err != nil {
		return 0, false, err
	}
	holds, err := a.holds(ctx, s)
	if err != nil {
		return 0, false, err
	}
	for attempt, l := range all {
		held := slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) })
		if held || now.Sub(l.last) < abandonedAfter {
			left = left || l.unfinished
			continue
		}
		err := a.wipe(ctx, s, attempt)
		if errors.Is(err, store.ErrRetained) {
			left = left || l.unfinished
			continue
		}
		if err != nil {
			return collected, left, err
		}
		collected += l.objects
	}
	if err := a.collectTrials(ctx, now); err != nil {
		return collected, left, err
	}
	swept, err := a.store.Sweep(ctx, s.prefix(kindData), now.Add(-abandonedAfter))
	return collected + swept, left, err
}

// underWay reports whether something of an unfinished backup stays, as collect finds it.
func (a *Archive) underWay(ctx context.Context, s Scope, now time.Time) (bool, error) {
	all, err := a.leftovers(ctx, s)
	if err != nil {
		return false, err
	}
	holds, err := a.holds(ctx, s)
	if err != nil {
		return false, err
	}
	for attempt, l := range all {
		held := slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) })
		if l.unfinished && (held || now.Sub(l.last) < abandonedAfter) {
			return true, nil
		}
	}
	return false, nil
}

// leftovers lists attempts without a manifest.
func (a *Archive) leftovers(ctx context.Context, s Scope) (map[string]*leftover, error) {
	// The manifests come last: an attempt that ends meanwhile is in one list or in the other.
	out := map[string]*leftover{}
	for _, kind := range []string{kindAttempt, kindData, kindProof, kindHold} {
		unfinished, end := kind == kindAttempt || kind == kindData, "_"
		if unfinished {
			end = "/"
		}
		for o, err := range store.All(ctx, a.store, s.prefix(kind)) {
			if err != nil {
				return nil, err
			}
			attempt, _, ok := strings.Cut(strings.TrimPrefix(o.Key, s.prefix(kind)), end)
			if !ok || !isAttempt(attempt) {
				continue
			}
			l := out[attempt]
			if l == nil {
				l = &leftover{}
				out[attempt] = l
			}
			l.objects++
			l.unfinished = l.unfinished || unfinished
			if o.Modified.After(l.last) {
				l.last = o.Modified
			}
		}
	}
	for o, err := range store.All(ctx, a.store, s.prefix(kindManifest)) {
		if err != nil {
			return nil, err
		}
		// That of a newer version counts too, whatever else is in its name.
		attempt, _, _ := strings.Cut(path.Base(o.Key), "_")
		delete(out, strings.TrimSuffix(attempt, ".json"))
	}
	return out, nil
}

// collectTrials deletes what trials of the store left: where it retains each new object, that is all of them.
func (a *Archive) collectTrials(ctx context.Context, now time.Time) error {
	for o, err := range store.All(ctx, a.store, store.Trials) {
		if err != nil {
			return err
		}
		if now.Sub(o.Modified) < abandonedAfter {
			continue
		}
		if err := a.store.Delete(ctx, o.Key); err != nil && !errors.Is(err, store.ErrRetained) {
			return err
		}
	}
	return nil
}
