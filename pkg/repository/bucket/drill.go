package bucket

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Drill is what a secret key could read if it were the only one left.
type Drill struct {
	// Current: it reads what is written from now on.
	Current bool
	// Read of Tried backups, the newest of All, can be read. Unknown ones among them have no manifest that counts, or a
	// header that is damaged: no key helps.
	Read, Tried, All, Unknown int
	// Lost is the newest backup that can't be read, "" for none.
	Lost string
	// LogRead of LogTried pieces of archived logs, the newest of the logs of the newest backups, can be read. LogLost is
	// one that can't be, "" for none.
	LogRead, LogTried int
	LogLost           string
}

// How many logs a drill tries, and how many pieces of each.
const (
	mostLogs   = 8
	mostPieces = 4
)

// mostTried bounds how many backups a drill tries: each takes two requests.
const mostTried = 200

// Drill tries a secret key, in the form of age, on the newest backups. It changes nothing.
func (r *Repository) Drill(ctx context.Context, identity string) (Drill, error) {
	var d Drill
	keys, err := r.description.keys(Secrets{FileIdentity: []byte(identity)})
	if err != nil {
		return d, err
	}
	public, err := archive.RecipientsOf(identity)
	if err != nil {
		return d, err
	}
	d.Current = slices.ContainsFunc(public, func(p string) bool { return slices.Contains(r.description.Recipients, p) })
	tried := archive.Open(r.store, keys)
	all, err := tried.List(ctx, archive.Scope{})
	if err != nil {
		return d, err
	}
	d.All, d.Tried = len(all.Entries), min(mostTried, len(all.Entries))
	reads, unknown := make([]bool, d.Tried), make([]bool, d.Tried)
	outer := ctx
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i, e := range all.Entries[:d.Tried] {
		g.Go(func() error {
			m, err := tried.Manifest(ctx, e)
			if err == nil {
				reads[i], err = tried.Opens(ctx, m)
			}
			unknown[i] = errors.Is(err, archive.ErrSignature) || errors.Is(err, archive.ErrFormat) ||
				errors.Is(err, archive.ErrDamaged) || errors.Is(err, store.ErrNotFound)
			if unknown[i] {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return d, err
	}
	for i, yes := range reads {
		switch {
		case unknown[i]:
			d.Unknown++
		case yes:
			d.Read++
		case d.Lost == "":
			d.Lost = all.Entries[i].ID
		}
	}
	return d, drillLogs(outer, tried, all.Entries[:d.Tried], &d)
}

// drillLogs tries the secret key on the newest pieces of the logs that go on from the newest backups.
func drillLogs(ctx context.Context, tried *archive.Archive, entries []archive.Entry, d *Drill) error {
	type place struct {
		archive.Scope

		incarnation string
	}
	seen := map[place]bool{}
	for _, e := range entries {
		at := place{e.Scope, e.Incarnation}
		if e.Log == nil || seen[at] || len(seen) == mostLogs {
			continue
		}
		seen[at] = true
		log := tried.Log(e.Scope, e.Incarnation)
		all, err := log.Segments(ctx)
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(x, y archive.Segment) int { return y.Time.Compare(x.Time) })
		for _, s := range all[:min(mostPieces, len(all))] {
			opens, err := log.Opens(ctx, s)
			if errors.Is(err, store.ErrNotFound) {
				continue // a prune was faster
			}
			if err != nil && !errors.Is(err, archive.ErrDamaged) {
				return err
			}
			d.LogTried++
			if opens {
				d.LogRead++
			} else if d.LogLost == "" {
				d.LogLost = s.Name
			}
		}
	}
	return nil
}
