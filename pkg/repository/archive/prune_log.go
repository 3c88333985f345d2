package archive

import (
	"context"
	"errors"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// logBefore names the segments before the first that one of the backups that stay starts from, in the same timeline:
// of those that the plan keeps, that the store retains, and that no trusted key signed. A timeline that none of them
// starts from is another matter, see spareLog. As long as backups of several timelines stay, so does all of the log:
// what goes on from a backup of the older one needs the younger one from its beginning. All of it stays too while
// something holds a backup that goes: a restore of that one may need its log. The manifests went before: nobody holds
// one later.
func (a *Archive) logBefore(ctx context.Context, p *Plan, do letGo) error {
	first := map[string]map[string]string{} // by incarnation and timeline
	for _, e := range p.stay() {
		if e.Log == nil {
			continue
		}
		if first[e.Incarnation] == nil {
			first[e.Incarnation] = map[string]string{}
		}
		if at, ok := first[e.Incarnation][e.Log.Timeline]; !ok || e.Log.Segment < at {
			first[e.Incarnation][e.Log.Timeline] = e.Log.Segment
		}
	}
	if len(p.going()) == 0 && len(p.retained) == 0 {
		return nil
	}
	if held, err := a.heldBeside(ctx, p); err != nil || held {
		return err
	}
	for incarnation, timelines := range first {
		if len(timelines) > 1 {
			continue
		}
		all, err := a.Log(p.Scope, incarnation).Segments(ctx)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s Segment) bool {
			at, ok := timelines[s.Timeline]
			return !ok || s.Name >= at
		})
		if err := do(incarnation, all); err != nil {
			return err
		}
	}
	return nil
}

// deleteSegment says how many segments it deleted: none if the store retains it.
func (a *Archive) deleteSegment(ctx context.Context, s Segment) (int, error) {
	err := a.store.Delete(ctx, s.key)
	if errors.Is(err, store.ErrRetained) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

// heldBeside says whether something holds a backup that a plan does not keep, or that is gone.
func (a *Archive) heldBeside(ctx context.Context, p *Plan) (bool, error) {
	holds, err := a.holds(ctx, p.Scope)
	if err != nil {
		return false, err
	}
	for _, d := range p.Decisions {
		if d.Keep {
			delete(holds, d.Attempt)
		}
	}
	for _, all := range holds {
		if slices.ContainsFunc(all, func(h Hold) bool { return h.Until.After(p.now) }) {
			return true, nil
		}
	}
	return false, nil
}
