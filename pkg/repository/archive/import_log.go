package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/volume"
)

// ImportedLog is what ImportLog copied; a repeat leaves out what is here.
type ImportedLog struct {
	Segments int
	Bytes    int64
}

// importsAtOnce is how many segments are copied side by side. Each is in memory as a whole.
const importsAtOnce = 4

// ImportLog copies the segments of another archive's log from which a restore of one of the backups goes on, as they
// are. Each that can be read with the keys here must be signed by a key that is trusted here: ErrSignature. Those that
// are encrypted to others are verified when somebody reads them. Whatever ends in the middle leaves whole segments, and
// a repeat goes on. ErrConflict if a segment here has the name of one there, and other content: it stays.
func (a *Archive) ImportLog(ctx context.Context, from *Archive, s Scope, incarnation string, starts []LogStart) (
	ImportedLog, error,
) {
	out, err := a.Log(s, incarnation).take(ctx, from.Log(s, incarnation), starts)
	if err != nil {
		err = fmt.Errorf("import the log of %s from %s to %s: %w", s.Cluster, from.store.URL(), a.store.URL(), err)
	}
	return out, err
}

func (l *Log) take(ctx context.Context, other *Log, starts []LogStart) (out ImportedLog, err error) {
	here, err := l.Segments(ctx)
	if err != nil {
		return out, err
	}
	there, err := other.Segments(ctx)
	if err != nil {
		return out, err
	}
	same, alien := map[string]bool{}, map[[2]string]bool{}
	for _, s := range here {
		same[s.content()] = true
	}
	theirs := map[string]bool{}
	for _, s := range there {
		theirs[s.content()] = true
	}
	for _, s := range here {
		alien[[2]string{s.Timeline, s.Name}] = !theirs[s.content()]
	}
	var segments, size atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(importsAtOnce)
	for _, s := range there {
		if ctx.Err() != nil {
			break
		}
		if same[s.content()] || !slices.ContainsFunc(starts, s.goesOnFrom) {
			continue
		}
		if alien[[2]string{s.Timeline, s.Name}] {
			group.Go(func() error { return fmt.Errorf("segment %s of timeline %s: %w", s.Name, s.Timeline, ErrConflict) })
			break
		}
		group.Go(func() error {
			if err := l.takeSegment(ctx, other.archive.store, s); err != nil {
				return fmt.Errorf("segment %s of timeline %s: %w", s.Name, s.Timeline, err)
			}
			segments.Add(1)
			size.Add(s.Bytes)
			return nil
		})
	}
	err = group.Wait()
	return ImportedLog{Segments: int(segments.Load()), Bytes: size.Load()}, err
}

// content is the key without what tells of the encryption: equal ones hold the same.
func (s Segment) content() string { return strings.TrimSuffix(s.key, ".age") }

// goesOnFrom reports whether a restore of a backup may need the segment. What of other timelines it needs, only the
// engine knows.
func (s Segment) goesOnFrom(start LogStart) bool {
	return s.Timeline != start.Timeline || s.Name >= start.Segment
}

func (l *Log) takeSegment(ctx context.Context, from store.Store, s Segment) error {
	object, err := store.ReadAll(ctx, from, s.key, store.MaxPut)
	if err != nil {
		return err
	}
	_, err = l.decode(s, &scratch{object: object})
	if err != nil && (!s.encrypted || !errors.Is(err, volume.ErrKey)) {
		return err
	}
	options, err := l.archive.options(ctx)
	if err != nil {
		return err
	}
	return store.PutSame(ctx, l.archive.store, s.key, object, options)
}
