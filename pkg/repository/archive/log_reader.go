package archive

import (
	"context"
	"errors"
	"fmt"
)

// readAhead is how many segments are read before they are asked for. Each takes its size in memory, and about as much
// again while it is decrypted and decompressed.
const readAhead = 1

// LogReader reads segments for a database that replays them one after the other: those that follow the one that was
// asked for are read meanwhile. It is for one caller at a time.
type LogReader struct {
	log *Log
	all []Segment
	// at finds segments that the list holds once, twice those of which it holds two.
	at    map[place]int
	twice map[place]bool
	ahead map[place]chan answer
	// last is what the answer to the caller is part of, free what nobody uses.
	last *scratch
	free []*scratch
}

// place names a segment.
type place struct{ timeline, name string }

type answer struct {
	body []byte
	err  error
	at   *scratch
}

// Reader reads the segments that Segments listed, and others that were appended later.
func (l *Log) Reader(all []Segment) *LogReader {
	patient := *l
	patient.archive = l.archive.patient()
	r := &LogReader{log: &patient, all: all, at: map[place]int{}, twice: map[place]bool{}, ahead: map[place]chan answer{}}
	for i, s := range all {
		p := place{s.Timeline, s.Name}
		_, r.twice[p] = r.at[p]
		r.at[p] = i
	}
	return r
}

// Read returns the content of a segment, as Log.Read does: ErrNotFound if the log has none of that name, ErrConflict if
// it has two. It is valid until Read is called again. What is read ahead ends with ctx, too.
func (r *LogReader) Read(ctx context.Context, timeline, name string) ([]byte, error) {
	p := place{timeline, name}
	i, listed := r.at[p]
	switch {
	case !listed:
		s, err := r.log.Find(ctx, timeline, name)
		if err != nil {
			return nil, err
		}
		return r.log.Read(ctx, s)
	case r.twice[p]:
		return nil, fmt.Errorf("read segment %s of timeline %s: %w", name, timeline, ErrConflict)
	}
	if r.last != nil {
		r.free, r.last = append(r.free, r.last), nil
	}
	got := <-r.follow(ctx, i)
	r.last = got.at
	if got.err != nil && ctx.Err() == nil && !errors.Is(got.err, ErrDamaged) {
		// It may be long ago that it was read: the store may be in reach now.
		got.body, got.err = r.log.read(ctx, r.all[i], got.at)
	}
	return got.body, got.err
}

// follow has a segment read, and those after it, and forgets all others.
func (r *LogReader) follow(ctx context.Context, i int) chan answer {
	ahead := map[place]chan answer{}
	for _, s := range r.all[i:min(len(r.all), i+1+readAhead)] {
		p := place{s.Timeline, s.Name}
		if s.Timeline != r.all[i].Timeline || r.twice[p] {
			break
		}
		c, ok := r.ahead[p]
		if !ok {
			c = make(chan answer, 1)
			at := r.memory()
			go func() {
				body, err := r.log.read(ctx, s, at)
				c <- answer{body, err, at}
			}()
		}
		ahead[p] = c
	}
	wanted := ahead[place{r.all[i].Timeline, r.all[i].Name}]
	delete(ahead, place{r.all[i].Timeline, r.all[i].Name})
	r.ahead = ahead
	return wanted
}

// memory is what nobody uses, or new.
func (r *LogReader) memory() *scratch {
	n := len(r.free)
	if n == 0 {
		return &scratch{}
	}
	at := r.free[n-1]
	r.free = r.free[:n-1]
	return at
}
