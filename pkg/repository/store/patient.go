package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// MostOutage is how long a store may not answer before a stream that was interrupted is given up: a restart of the
// store, or of the network to it, is over by then.
const MostOutage = 15 * time.Minute

// ErrUnreachable: the store did not answer, or said that it is too busy. A repeat may help. What a store says of a
// request itself, such as ErrDenied, is no such error.
var ErrUnreachable = errors.New("the store does not answer")

// The pauses before a request is made again, beside those of the client of the store, and how often an outage is told.
const (
	firstPause = time.Second
	mostPause  = 15 * time.Second
	tellEvery  = time.Minute
)

// Outage is heard by who waits for a store, see OnOutage.
type Outage struct {
	// Store is the URL of the store.
	Store string
	// Since is when the first request began that it did not answer.
	Since time.Time
	// Until is when it is given up.
	Until time.Time
	// Err is what was last heard of it; nil once it answers again.
	Err error
}

// String says it in a sentence for people.
func (o Outage) String() string {
	since := o.Since.UTC().Format("15:04:05 MST")
	if o.Err == nil {
		return fmt.Sprintf("%s answers again; it did not since %s", o.Store, since)
	}
	return fmt.Sprintf("%s does not answer since %s, and is waited for until %s: %v", o.Store, since,
		o.Until.UTC().Format("15:04:05 MST"), o.Err)
}

type outageKey struct{}

// OnOutage has tell hear when a Patient store is waited for with this context, and when it answers again. Several
// goroutines may call it.
func OnOutage(ctx context.Context, tell func(Outage)) context.Context {
	return context.WithValue(ctx, outageKey{}, tell)
}

// Patient makes requests of a store again that it did not answer, for at most so long: what reads and writes a
// stream goes on with the part that was interrupted, and no more is kept in memory than that part. What the store does
// answer ends a request at once. A Put that finds the same bytes, and a Commit that finds its own object, are done: an
// answer was lost. What deletes is asked for once.
func Patient(s Store, most time.Duration) Store { return &patient{Store: s, most: most} }

type patient struct {
	Store

	most time.Duration

	mu sync.Mutex
	// since is when the outage began that is under way; zero for none. told is when somebody was told of it last.
	since, told time.Time
}

// answered ends the outage, if there is one.
func (p *patient) answered(ctx context.Context) {
	p.mu.Lock()
	since := p.since
	p.since = time.Time{}
	p.mu.Unlock()
	if !since.IsZero() {
		p.tell(ctx, Outage{Store: p.URL(), Since: since})
	}
}

// failed says when the outage began: began, unless it is older.
func (p *patient) failed(ctx context.Context, began time.Time, err error) time.Time {
	p.mu.Lock()
	if p.since.IsZero() {
		p.since, p.told = began, time.Time{}
	}
	since, silent := p.since, time.Since(p.told) < tellEvery
	if !silent {
		p.told = time.Now()
	}
	p.mu.Unlock()
	if !silent {
		p.tell(ctx, Outage{Store: p.URL(), Since: since, Until: since.Add(p.most), Err: err})
	}
	return since
}

func (p *patient) tell(ctx context.Context, o Outage) {
	if tell, ok := ctx.Value(outageKey{}).(func(Outage)); ok {
		tell(o)
	}
}

// until makes a request until the store answers it.
func (p *patient) until(ctx context.Context, request func() error) error {
	for pause := firstPause; ; {
		began := time.Now()
		err := request()
		if !errors.Is(err, ErrUnreachable) {
			p.answered(ctx)
			return err
		}
		if err := p.wait(ctx, began, &pause, err); err != nil {
			return err
		}
	}
}

// wait pauses before another request, longer each time. It returns the error if it was long enough, or ctx has ended.
func (p *patient) wait(ctx context.Context, began time.Time, pause *time.Duration, err error) error {
	left := p.most - time.Since(p.failed(ctx, began, err))
	if left <= 0 {
		return fmt.Errorf("waited %s: %w", p.most, err)
	}
	select {
	case <-time.After(min(*pause, left)):
		*pause = min(2**pause, mostPause)
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), err)
	}
}

// Put implements Store.
func (p *patient) Put(ctx context.Context, key string, body []byte, o Options) error {
	return p.until(ctx, func() error { return PutSame(ctx, p.Store, key, body, o) })
}

// Head implements Store.
func (p *patient) Head(ctx context.Context, key string) (o Object, err error) {
	err = p.until(ctx, func() error {
		o, err = p.Store.Head(ctx, key)
		return err
	})
	return o, err
}

// List implements Store.
func (p *patient) List(ctx context.Context, prefix, token string) (page Page, err error) {
	err = p.until(ctx, func() error {
		page, err = p.Store.List(ctx, prefix, token)
		return err
	})
	return page, err
}

// Get implements Store. A stream that breaks goes on at that byte.
func (p *patient) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r := &patientReader{ctx: ctx, store: p, key: key, offset: offset, length: length, pause: firstPause}
	return r, r.open()
}

// patientReader is a range that is read to its end.
type patientReader struct {
	ctx            context.Context
	store          *patient
	key            string
	offset, length int64

	body  io.ReadCloser
	pause time.Duration
	// broken is when the first of the connections broke that brought nothing; zero for none.
	broken time.Time
}

func (r *patientReader) open() error {
	return r.store.until(r.ctx, func() (err error) {
		r.body, err = r.store.Store.Get(r.ctx, r.key, r.offset, r.length)
		return err
	})
}

func (r *patientReader) Read(b []byte) (int, error) {
	for r.length != 0 {
		began := time.Now()
		n, err := r.body.Read(b)
		r.offset += int64(n)
		if r.length > 0 {
			r.length -= int64(n)
		}
		switch {
		case err == nil || errors.Is(err, io.EOF) || r.ctx.Err() != nil:
			if n > 0 {
				r.pause, r.broken = firstPause, time.Time{}
			}
			return n, err
		case n > 0:
			r.pause, r.broken = firstPause, time.Time{}
			return n, nil // the next Read tells of the rest
		}
		_ = r.body.Close()
		if r.broken.IsZero() {
			r.broken = began
		}
		broken := fmt.Errorf("read %s from %s: %w: %w", r.key, r.store.URL(), ErrUnreachable, err)
		if err := r.store.wait(r.ctx, r.broken, &r.pause, broken); err != nil {
			return 0, err
		}
		if err := r.open(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

func (r *patientReader) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}

// Upload implements Store. One that was started without an answer is swept later.
func (p *patient) Upload(ctx context.Context, key string, o Options) (u Upload, err error) {
	err = p.until(ctx, func() error {
		u, err = p.Store.Upload(ctx, key, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &patientUpload{Upload: u, store: p, key: key, sizes: map[int]int64{}}, nil
}

type patientUpload struct {
	Upload

	store *patient
	key   string

	mu    sync.Mutex
	sizes map[int]int64
	// head are the first bytes.
	head []byte
}

// headSize tells two objects of one key apart: what age encrypts begins differently each time.
const headSize = 1 << 10

func (u *patientUpload) Part(ctx context.Context, n int, body []byte) error {
	err := u.store.until(ctx, func() error { return u.Upload.Part(ctx, n, body) })
	if err == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.sizes[n] = int64(len(body))
		if n == 0 {
			u.head = bytes.Clone(body[:min(len(body), headSize)])
		}
	}
	return err
}

// Commit takes an object that begins as this one, and is as long, for this one.
func (u *patientUpload) Commit(ctx context.Context, parts int) error {
	unsure := false
	return u.store.until(ctx, func() error {
		err := u.Upload.Commit(ctx, parts)
		if err == nil || errors.Is(err, ErrUnreachable) {
			unsure = true
			return err
		}
		// Who made the request twice hears that the upload is known no more, or that its object exists.
		if !unsure && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrExists) {
			return err
		}
		if own, asked := u.own(ctx, parts); own || errors.Is(asked, ErrUnreachable) {
			return asked
		}
		return err
	})
}

func (u *patientUpload) own(ctx context.Context, parts int) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	size := int64(0)
	for n := range parts {
		size += u.sizes[n]
	}
	o, err := u.store.Store.Head(ctx, u.key)
	if err != nil || o.Size != size {
		return false, err
	}
	r, err := u.store.Store.Get(ctx, u.key, 0, int64(len(u.head)))
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }()
	head, err := io.ReadAll(r)
	if err != nil {
		return false, fmt.Errorf("read %s from %s: %w: %w", u.key, u.store.URL(), ErrUnreachable, err)
	}
	return bytes.Equal(head, u.head), nil
}
