package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Plan is what a prune would do.
type Plan struct {
	Scope

	Decisions []Decision
	// Unsigned are backups whose manifests no trusted key signed for their names. They are never deleted, and
	// never a reason to delete another. What they add to stays, and so does their log.
	Unsigned []Entry
	// Log is what goes of the log, once PlanLog has told it.
	Log []Part

	// retained are the identifiers of backups that stay for the store alone, and of what these add to.
	retained []string
	now      time.Time
	spare    Spare
	// foreseeing says that what goes is there yet: nothing was deleted so far.
	foreseeing bool
	// shown are the keys of what Log counts, only those that may go after another plan was shown; nil for all.
	shown, only map[string]bool
}

// Spares has a prune collect what an engine says that no backup needs of a log. Without it timelines that no backup
// starts from stay.
func (p *Plan) Spares(by Spare) { p.spare = by }

// Plan decides what goes, by the store's clock. ErrClock if this machine's differs from it by more than 10 minutes.
// Every backup that is a reason to let another go is read and its signature verified, and so is the proof of the newest
// one that was restored. What can't be read for another reason than its signature ends the plan with that error.
func (a *Archive) Plan(ctx context.Context, s Scope, r Retention) (*Plan, error) {
	now, within, err := store.Clock(ctx, a.store)
	if err != nil {
		return nil, err
	}
	if d := a.now().Sub(now).Abs(); d > clockMargin+within {
		return nil, fmt.Errorf("prune: %w: it is %s here and %s in %s; set the clock of this machine", ErrClock,
			a.now().UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339), a.store.URL())
	}
	c, proofs, err := a.list(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &Plan{Scope: s, now: now}
	entries, known := newestFirst(c.Entries), map[string]bool{}
	restored := restorations{archive: a, named: proofs, signed: map[string]bool{}, doubted: map[string]bool{}}
	for {
		var proven []string
		if !r.keepsAll() {
			if proven, err = restored.newest(ctx, entries); err != nil {
				return nil, err
			}
		}
		p.Decisions = r.Decide(entries, now, func(e Entry) bool { return slices.Contains(proven, e.Attempt) })
		unsigned, gone, err := a.doubtful(ctx, p.Decisions, known)
		if err != nil {
			return nil, err
		}
		if len(unsigned)+len(gone) == 0 {
			p.keepParents(p.Unsigned)
			if err := a.retained(ctx, p); err != nil {
				return nil, err
			}
			return p, nil
		}
		p.Unsigned = append(p.Unsigned, unsigned...)
		entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool {
			return slices.ContainsFunc(slices.Concat(unsigned, gone), func(u Entry) bool { return u.Key == e.Key })
		})
	}
}

// doubtful reads the manifests of all that a plan changes, and of those that are a reason to let another go, once. It
// returns those that no trusted key signed, and those that are gone by now.
func (a *Archive) doubtful(ctx context.Context, all []Decision, known map[string]bool) (
	unsigned, gone []Entry, err error,
) {
	if !slices.ContainsFunc(all, func(d Decision) bool { return !d.Keep }) {
		return nil, nil, nil
	}
	for _, d := range all {
		if known[d.Key] || d.Keep && !d.Scheduled && !d.counts {
			continue
		}
		_, err := a.Manifest(ctx, d.Entry)
		switch {
		case err == nil:
			known[d.Key] = true
		case errors.Is(err, ErrNotFound):
			gone = append(gone, d.Entry)
		case errors.Is(err, ErrSignature), errors.Is(err, ErrDamaged), errors.Is(err, ErrFormat):
			unsigned = append(unsigned, d.Entry)
		default:
			return nil, nil, err
		}
	}
	return unsigned, gone, nil
}

// going are the decisions that delete, oldest first, and before all others those of backups that add to another: none
// is ever there without what it adds to.
func (p *Plan) going() []Decision {
	var out, others []Decision
	for _, d := range slices.Backward(p.Decisions) {
		switch {
		case d.Keep:
		case d.Parent != "":
			out = append(out, d)
		default:
			others = append(others, d)
		}
	}
	return append(out, others...)
}

// goes reports whether what is there yet has an attempt that the plan deletes, under whatever name.
func (p *Plan) goes(attempt string) bool {
	return p.foreseeing && !slices.ContainsFunc(p.stay(), func(e Entry) bool { return e.Attempt == attempt }) &&
		slices.ContainsFunc(p.Decisions, func(d Decision) bool { return d.Attempt == attempt })
}

func (p *Plan) keeps(attempt string) bool {
	return slices.ContainsFunc(p.Decisions, func(d Decision) bool { return d.Attempt == attempt && d.Keep })
}

// stay are the backups that do not go.
func (p *Plan) stay() []Entry {
	out := slices.Clone(p.Unsigned)
	for _, d := range p.Decisions {
		if d.Keep {
			out = append(out, d.Entry)
		}
	}
	return out
}

// retain has a backup stay that no rule keeps, because the store does not let it go, and the one that it adds to.
func (p *Plan) retain(e Entry, reason string) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		switch {
		case d.Keep:
			continue
		case d.Attempt == e.Attempt:
			d.Keep, d.Reason = true, reason
		case d.Attempt == e.Parent:
			d.Keep, d.Reason = true, addsTo(e)
		default:
			continue
		}
		p.retained = append(p.retained, d.ID)
	}
}

// Keep has a backup stay, and the one that it adds to.
func (p *Plan) Keep(id, reason string) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.ID != id {
			continue
		}
		if !d.Keep {
			d.Keep, d.Reason = true, reason
		}
		p.keepParents([]Entry{d.Entry})
	}
}

// Only has every backup stay that another plan for the same cluster does not let go, and what of the log it does not
// name: nothing goes that was not shown.
func (p *Plan) Only(shown *Plan) {
	if p.only = shown.shown; p.only == nil {
		p.only = map[string]bool{}
	}
	agreed := map[string]bool{}
	for _, d := range shown.Decisions {
		agreed[d.Attempt] = agreed[d.Attempt] || !d.Keep
	}
	for _, d := range p.Decisions {
		if !d.Keep && !agreed[d.Attempt] {
			p.Keep(d.ID, "it was not shown as one that goes")
		}
	}
}

// keepParents keeps what backups add to that stay.
func (p *Plan) keepParents(of []Entry) {
	for _, e := range of {
		for i := range p.Decisions {
			if full := &p.Decisions[i]; full.Attempt == e.Parent && !full.Keep {
				full.Keep, full.Reason = true, addsTo(e)
			}
		}
	}
}
