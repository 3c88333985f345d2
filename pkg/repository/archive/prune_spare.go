package archive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Spare says which segments of a log no restore needs of backups of an engine that start at some places, now or later.
// Where it can't be told, it names none. It is pure.
type Spare func(engine string, starts []LogStart, all []Segment) []Segment

// Part is what a prune lets go of one timeline of a log.
type Part struct {
	Incarnation string `json:"incarnation"`
	Timeline    string `json:"timeline"`
	Segments    int    `json:"segments"`
	Bytes       int64  `json:"bytes"`
}

// letGo is told what goes of the log of an incarnation.
type letGo func(incarnation string, all []Segment) error

// spareLog names the segments that no backup needs, but for those of timelines that got something within a day: the
// newest one of all, and one that is archived or imported late. Of each incarnation a trusted key must have signed a
// backup, and what goes on from all of them must be told: what nobody signed can only keep something. Whatever can't be
// told for sure keeps all: a manifest of a newer version, or a hold of a backup that goes.
func (a *Archive) spareLog(ctx context.Context, p *Plan, do letGo) error {
	if p.spare == nil {
		return nil
	}
	if held, err := a.heldBeside(ctx, p); err != nil || held {
		return err
	}
	c, err := a.manifests(ctx, p.Scope)
	if err != nil || c.Foreign > 0 {
		return err
	}
	stay := map[string][]Entry{}
	for _, e := range c.Entries {
		if e.Incarnation != "" && !p.goes(e.Attempt) {
			stay[e.Incarnation] = append(stay[e.Incarnation], e)
		}
	}
	for incarnation, entries := range stay {
		all, err := a.spareOf(ctx, p, incarnation, entries)
		if err == nil && len(all) > 0 {
			err = do(incarnation, all)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spareOf are the segments of one incarnation that its backups don't need.
func (a *Archive) spareOf(ctx context.Context, p *Plan, incarnation string, entries []Entry) ([]Segment, error) {
	var starts []LogStart
	for _, e := range entries {
		if e.Log == nil || e.Engine != entries[0].Engine {
			return nil, nil
		}
		starts = append(starts, *e.Log)
	}
	all, err := a.Log(p.Scope, incarnation).Segments(ctx)
	if err != nil {
		return nil, err
	}
	named, grew := map[place]int{}, map[string]time.Time{}
	for _, s := range all {
		named[place{s.Timeline, s.Name}]++
		if s.Stored.After(grew[s.Timeline]) {
			grew[s.Timeline] = s.Stored
		}
	}
	spare := slices.DeleteFunc(p.spare(entries[0].Engine, starts, all), func(s Segment) bool {
		return named[place{s.Timeline, s.Name}] > 1 || p.now.Sub(grew[s.Timeline]) < abandonedAfter
	})
	if len(spare) == 0 {
		return nil, nil
	}
	signed, err := a.anySigned(ctx, entries)
	if err != nil || !signed {
		return nil, err
	}
	return spare, nil
}

// anySigned reads manifests until a trusted key signed one.
func (a *Archive) anySigned(ctx context.Context, entries []Entry) (bool, error) {
	for _, e := range entries {
		_, err := a.Manifest(ctx, e)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrSignature), errors.Is(err, ErrDamaged),
			errors.Is(err, ErrFormat):
		default:
			return false, err
		}
	}
	return false, nil
}

// PlanLog adds to a plan what it lets go of the log, to be shown. What the store retains, or somebody needs by then,
// stays all the same.
func (a *Archive) PlanLog(ctx context.Context, p *Plan) error {
	p.Log, p.shown, p.foreseeing = []Part{}, map[string]bool{}, true
	defer func() { p.foreseeing = false }()
	note := func(incarnation string, all []Segment) error {
		for _, s := range all {
			if p.shown[s.key] {
				continue
			}
			p.shown[s.key] = true
			i := slices.IndexFunc(p.Log, func(l Part) bool {
				return l.Incarnation == incarnation && l.Timeline == s.Timeline
			})
			if i < 0 {
				i = len(p.Log)
				p.Log = append(p.Log, Part{Incarnation: incarnation, Timeline: s.Timeline})
			}
			p.Log[i].Segments++
			p.Log[i].Bytes += s.Bytes
		}
		return nil
	}
	if err := a.logBefore(ctx, p, note); err != nil {
		return err
	}
	unfinished, err := a.underWay(ctx, p.Scope, p.now)
	if err != nil {
		return err
	}
	if !unfinished {
		if err := a.spareLog(ctx, p, note); err != nil {
			return err
		}
		if err := a.formerLogs(ctx, p, note); err != nil {
			return err
		}
	}
	slices.SortFunc(p.Log, func(x, y Part) int {
		return strings.Compare(x.Incarnation+"/"+x.Timeline, y.Incarnation+"/"+y.Timeline)
	})
	return nil
}

// dropping deletes segments, unless what was shown does not name them, and counts those that the store let go.
func (a *Archive) dropping(ctx context.Context, p *Plan, deleted *int) letGo {
	return func(_ string, all []Segment) error {
		for _, s := range all {
			if p.only != nil && !p.only[s.key] {
				continue
			}
			n, err := a.deleteSegment(ctx, s)
			if *deleted += n; err != nil {
				return err
			}
		}
		return nil
	}
}
