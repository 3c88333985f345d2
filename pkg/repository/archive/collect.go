package archive

import (
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

// collect deletes what belongs to no backup, once nothing was added to it for a day and no hold keeps it. It says how
// many objects that were, and whether something of that kind is left.
func (a *Archive) collect(ctx context.Context, s Scope, now time.Time) (collected int, left bool, err error) {
	// The manifests come last: an attempt that ends meanwhile is in one list or in the other.
	last, count := map[string]time.Time{}, map[string]int{}
	for _, kind := range []string{kindAttempt, kindData} {
		for o, err := range store.All(ctx, a.store, s.prefix(kind)) {
			if err != nil {
				return 0, false, err
			}
			attempt, _, ok := strings.Cut(strings.TrimPrefix(o.Key, s.prefix(kind)), "/")
			if !ok || !isAttempt(attempt) {
				continue
			}
			count[attempt]++
			if o.Modified.After(last[attempt]) {
				last[attempt] = o.Modified
			}
		}
	}
	for o, err := range store.All(ctx, a.store, s.prefix(kindManifest)) {
		if err != nil {
			return 0, false, err
		}
		// That of a newer version counts too, whatever else is in its name.
		attempt, _, _ := strings.Cut(path.Base(o.Key), "_")
		delete(last, strings.TrimSuffix(attempt, ".json"))
	}
	holds, err := a.holds(ctx, s)
	if err != nil {
		return 0, false, err
	}
	for attempt, at := range last {
		held := slices.ContainsFunc(holds[attempt], func(h Hold) bool { return h.Until.After(now) })
		if held || now.Sub(at) < abandonedAfter {
			left = true
			continue
		}
		err := a.wipe(ctx, s, attempt)
		if errors.Is(err, store.ErrRetained) {
			left = true
			continue
		}
		if err != nil {
			return collected, left, err
		}
		collected += count[attempt]
	}
	swept, err := a.store.Sweep(ctx, s.prefix(kindData), now.Add(-abandonedAfter))
	return collected + swept, left, err
}
