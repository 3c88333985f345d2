package archive

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// formerLogs names the logs of incarnations that are over: no manifest names one, signed or not, so that nothing is
// left from which its log could be replayed. The incarnation whose log grew last stays, because its first backup may
// be yet to come, and so does what grew within a day. Whatever can't be told for sure keeps all: a name that this
// version does not know, or a hold of any backup of the cluster. Whose log it was stays noted: a copy of that cluster
// must not go on in it.
func (a *Archive) formerLogs(ctx context.Context, p *Plan, do letGo) error {
	s, now := p.Scope, p.now
	over, err := a.formerIncarnations(ctx, s, now)
	if err != nil || len(over) == 0 {
		return err
	}
	holds, err := a.holds(ctx, s)
	if err != nil {
		return err
	}
	for _, all := range holds {
		for _, h := range all {
			if h.Until.After(now) {
				return nil
			}
		}
	}
	// Last, so that a backup which ended meanwhile counts.
	c, err := a.manifests(ctx, s)
	if err != nil || c.Foreign > 0 {
		return err
	}
	for _, e := range c.Entries {
		if !p.goes(e.Attempt) {
			delete(over, e.Incarnation)
		}
	}
	for incarnation := range over {
		all, err := a.Log(s, incarnation).Segments(ctx)
		if err != nil {
			return err
		}
		// It may be in force again since it was listed: by the undo of a restore in place.
		if slices.ContainsFunc(all, func(g Segment) bool { return now.Sub(g.Stored) < abandonedAfter }) {
			continue
		}
		if err := do(incarnation, all); err != nil {
			return err
		}
	}
	return nil
}

// formerIncarnations are the incarnations whose logs got nothing for a day, by the store's clock, but the one that got
// something last. One with an object that is no segment as this version makes them is not among them.
func (a *Archive) formerIncarnations(ctx context.Context, s Scope, now time.Time) (map[string]bool, error) {
	grew, strange := map[string]time.Time{}, map[string]bool{}
	var last time.Time
	for o, err := range store.All(ctx, a.store, s.prefix(kindLog)) {
		if err != nil {
			return nil, fmt.Errorf("list the logs: %w", err)
		}
		part, _, _ := strings.Cut(strings.TrimPrefix(o.Key, s.prefix(kindLog)), "/")
		incarnation, ok := parseSegment(part)
		if !ok {
			continue
		}
		if _, ok := a.Log(s, incarnation).parseSegment(o); !ok {
			strange[incarnation] = true
		}
		if o.Modified.After(grew[incarnation]) {
			grew[incarnation] = o.Modified
		}
		if o.Modified.After(last) {
			last = o.Modified
		}
	}
	out := map[string]bool{}
	for incarnation, at := range grew {
		if at.Before(last) && now.Sub(at) >= abandonedAfter && !strange[incarnation] {
			out[incarnation] = true
		}
	}
	return out, nil
}
