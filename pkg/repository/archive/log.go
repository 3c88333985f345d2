package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// Log is the archived log of one incarnation of a cluster. Segments may be appended in any order and from several
// processes at once.
type Log struct {
	archive     *Archive
	scope       Scope
	incarnation string
}

// Log names the log of an incarnation.
func (a *Archive) Log(s Scope, incarnation string) *Log {
	return &Log{archive: a, scope: s, incarnation: incarnation}
}

// Append stores a segment: once it returns nil, the segment is durable. A repeat with the same bytes is success.
// ErrConflict if the log has a segment of that name with other bytes or positions: that one stays, and somebody
// must find out which of two histories is the true one.
func (l *Log) Append(ctx context.Context, s Segment, body []byte) error {
	if err := l.append(ctx, s, body); err != nil {
		return fmt.Errorf("append segment %s of timeline %s to the log of %s: %w", s.Name, s.Timeline, l.scope.Cluster, err)
	}
	return nil
}

func (l *Log) append(ctx context.Context, s Segment, body []byte) error {
	s.Time = s.Time.UTC().Truncate(time.Second)
	switch {
	case s.Name == "" || s.Time.Unix() < 0 || s.Time.Unix() > maxUnix:
		return errors.New("it lacks a name, or a time")
	case len(body) > MaxSegment:
		return fmt.Errorf("it has %d bytes, more than %d; cut it", len(body), MaxSegment)
	}
	digest := sha256.Sum256(body)
	sum := hex.EncodeToString(digest[:])
	key, err := l.key(s, shortHash(sum))
	if err != nil {
		return err
	}
	object, err := l.encode(s, body, sum)
	if err != nil {
		return err
	}
	a := l.archive
	options, err := a.options(ctx)
	if err != nil {
		return err
	}
	err = a.store.Put(ctx, key, object, options)
	mine := err == nil
	if err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	return l.confirm(ctx, s, key, object, mine)
}

// confirm believes the list of the store, and not its answer: what was put is there as a whole, and nothing else has
// the name. That name holds a hash of the content, so what else has it has other content.
func (l *Log) confirm(ctx context.Context, s Segment, key string, object []byte, mine bool) error {
	a, listed := l.archive, false
	for o, err := range store.All(ctx, a.store, key[:strings.LastIndexByte(key, '/')+1]+escape(s.Name)+"_") {
		if err != nil {
			return err
		}
		if strings.TrimSuffix(o.Key, ".age") != strings.TrimSuffix(key, ".age") {
			if mine {
				err = a.store.Delete(ctx, key) // it was not acknowledged
			}
			return errors.Join(fmt.Errorf("%w: %s", ErrConflict, o.Key), err)
		}
		listed = true
		if mine && o.Size != int64(len(object)) {
			// It goes, so that a repeat puts it again.
			return errors.Join(fmt.Errorf("%s took %d bytes as %s, and has %d", a.store.URL(), len(object), key, o.Size),
				a.store.Delete(ctx, key))
		}
	}
	if !listed {
		return fmt.Errorf("%s answered that it has %s, and does not list it", a.store.URL(), key)
	}
	return nil
}

// Read returns a segment's content, once its signature and its hash are verified.
func (l *Log) Read(ctx context.Context, s Segment) ([]byte, error) { return l.read(ctx, s, &scratch{}) }

// read is Read into memory that is used again.
func (l *Log) read(ctx context.Context, s Segment, at *scratch) ([]byte, error) {
	err := l.fetch(ctx, s, at)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var body []byte
	if err == nil {
		body, err = l.decode(s, at)
	}
	if err != nil {
		return nil, fmt.Errorf("read segment %s of timeline %s: %w", s.Name, s.Timeline, err)
	}
	return body, nil
}

// fetch gets the object of a segment.
func (l *Log) fetch(ctx context.Context, s Segment, at *scratch) error {
	in, err := l.archive.store.Get(ctx, s.key, 0, store.MaxPut)
	if err != nil {
		return err
	}
	at.object, err = sized(in, s.Bytes, at.object)
	if err != nil {
		err = fmt.Errorf("read %s from %s: %w", s.key, l.archive.store.URL(), err)
	}
	return errors.Join(err, in.Close())
}

// Range is a row of segments without a gap.
type Range struct {
	Timeline string `json:"timeline"`
	// First and Last are names, Start and End positions, From and To the times of the first and the last segment.
	First string    `json:"first"`
	Last  string    `json:"last"`
	Start string    `json:"start"`
	End   string    `json:"end"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`

	Segments int   `json:"segments"`
	Bytes    int64 `json:"bytes"`
}

// Window is what a log covers: within a timeline, a gap lies between one range and the next.
type Window struct {
	Ranges []Range `json:"ranges"`
	// Conflicts are names that two segments have. Neither is in a range.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Segments lists the log, sorted by timeline and name. It takes one request for every thousand.
func (l *Log) Segments(ctx context.Context) ([]Segment, error) {
	var out []Segment
	for o, err := range store.All(ctx, l.archive.store, l.prefix()) {
		if err != nil {
			return nil, fmt.Errorf("list the log of %s: %w", l.scope.Cluster, err)
		}
		if s, ok := l.parseSegment(o); ok {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y Segment) int {
		if c := strings.Compare(x.Timeline, y.Timeline); c != 0 {
			return c
		}
		return strings.Compare(x.Name, y.Name)
	})
	return out, nil
}

// Find returns one segment, in a request: ErrNotFound if the log has none of that name, ErrConflict if it has two.
func (l *Log) Find(ctx context.Context, timeline, name string) (Segment, error) {
	var out []Segment
	for o, err := range store.All(ctx, l.archive.store, l.prefix()+segment(timeline)+"/"+escape(name)+"_") {
		if err != nil {
			return Segment{}, fmt.Errorf("find segment %s of timeline %s: %w", name, timeline, err)
		}
		if s, ok := l.parseSegment(o); ok && s.Name == name {
			out = append(out, s)
		}
	}
	switch len(out) {
	case 0:
		return Segment{}, fmt.Errorf("find segment %s of timeline %s: %w", name, timeline, ErrNotFound)
	case 1:
		return out[0], nil
	}
	return Segment{}, fmt.Errorf("find segment %s of timeline %s: %w", name, timeline, ErrConflict)
}

// Window says what the log covers.
func (l *Log) Window(ctx context.Context) (Window, error) {
	all, err := l.Segments(ctx)
	if err != nil {
		return Window{}, err
	}
	return windowOf(all), nil
}

func windowOf(all []Segment) Window {
	var w Window
	for i, s := range all {
		same := func(j int) bool { return all[j].Timeline == s.Timeline && all[j].Name == s.Name }
		if i+1 < len(all) && same(i+1) || i > 0 && same(i-1) {
			if i == 0 || !same(i-1) {
				w.Conflicts = append(w.Conflicts, s.Timeline+"/"+s.Name)
			}
			continue
		}
		n := len(w.Ranges)
		if n == 0 || w.Ranges[n-1].Timeline != s.Timeline || w.Ranges[n-1].End != s.Start {
			w.Ranges = append(w.Ranges, Range{Timeline: s.Timeline, First: s.Name, Start: s.Start, From: s.Time})
			n++
		}
		r := &w.Ranges[n-1]
		r.Last, r.End = s.Name, s.End
		// One in which nothing was committed has no time.
		if s.Time.After(r.To) {
			r.To = s.Time
		}
		r.Segments++
		r.Bytes += s.Bytes
	}
	return w
}
