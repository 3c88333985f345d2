package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Fact is one thing that Probe found out about a store.
type Fact struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Detail is for people.
	Detail string `json:"detail,omitempty"`
	// Required: a repository can't do without it.
	Required bool `json:"required"`
}

// ErrLies: a store does not do what it says, or what every store must do.
var ErrLies = errors.New("the store does not do what a repository needs")

// Retainer is a store that can prove its retention.
type Retainer interface {
	EnforcesRetention(ctx context.Context) (bool, error)
}

// Probe finds out what a store really does: it stores, reads, lists and deletes small objects under Trials, and
// tries what must be refused. ErrLies, beside the facts, if a required one is missing; retention is required only
// if it is asked for. Some seconds pass where retention is proven. Where the store retains each new object, those of
// the trial stay, and a fact says so.
func Probe(ctx context.Context, s Store, retention bool) ([]Fact, error) {
	p := prober{store: s, key: Trials + "object-" + rand.Text()}
	for _, step := range []func(context.Context) error{p.write, p.putTwice, p.upload, p.list, p.clock, p.remove} {
		if err := step(ctx); err != nil {
			return p.facts, fmt.Errorf("probe %s: %w", s.URL(), err)
		}
	}
	c, err := s.Capabilities(ctx)
	if err == nil && p.kept != nil {
		err = p.retains(ctx, c)
	}
	if err != nil {
		return p.facts, fmt.Errorf("probe %s: %w", s.URL(), err)
	}
	p.add("compares checksums of what arrives", c.Checksums, false, "")
	p.add("keeps old versions", c.Versioning, false, "")
	enforced := false
	if r, ok := s.(Retainer); ok && c.Retention {
		if enforced, err = r.EnforcesRetention(ctx); err != nil {
			return p.facts, fmt.Errorf("probe %s: %w", s.URL(), err)
		}
	}
	p.add("enforces retention", enforced, retention, "")
	for _, f := range p.facts {
		if f.Required && !f.OK {
			return p.facts, fmt.Errorf("%w: %s: it fails at: %s", ErrLies, s.URL(), f.What)
		}
	}
	return p.facts, nil
}

type prober struct {
	store Store
	key   string
	facts []Fact
	// ahead is by how much the store's clock is ahead of this machine's.
	ahead time.Duration
	// kept is why the object stays: the store retains it, though nobody asked for that.
	kept error
}

func (p *prober) add(what string, ok, required bool, detail string) {
	p.facts = append(p.facts, Fact{What: what, OK: ok, Required: required, Detail: detail})
}

func (p *prober) write(ctx context.Context) error {
	if err := p.store.Put(ctx, p.key, []byte("0123456789"), Options{}); err != nil {
		return err
	}
	whole, err := ReadAll(ctx, p.store, p.key, 100)
	if err != nil {
		return err
	}
	r, err := p.store.Get(ctx, p.key, 3, 4)
	if err != nil {
		return err
	}
	part, err := io.ReadAll(io.LimitReader(r, 100))
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	p.add("returns what was stored, whole and in part", string(whole) == "0123456789" && string(part) == "3456", true, "")
	return nil
}

// putTwice tries to replace the object.
func (p *prober) putTwice(ctx context.Context) error {
	err := p.store.Put(ctx, p.key, []byte("replaced"), Options{})
	if err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	left, read := ReadAll(ctx, p.store, p.key, 100)
	ok := errors.Is(err, ErrExists) && string(left) == "0123456789"
	p.add("never replaces an object by a put", ok, true, "the condition If-None-Match of S3, or its like")
	return read
}

// upload stores one in parts, over the first, which some stores allow: names of such objects are unique.
func (p *prober) upload(ctx context.Context) error {
	key, body := Trials+"parts-"+rand.Text(), bytes.Repeat([]byte("p"), PartSize+1)
	u, err := p.store.Upload(ctx, key, Options{})
	if err != nil {
		return err
	}
	for n, part := range [][]byte{body[:PartSize], body[PartSize:]} {
		if err := u.Part(ctx, n, part); err != nil {
			return errors.Join(err, u.Abort(ctx))
		}
	}
	if err := u.Commit(ctx, 2); err != nil {
		return errors.Join(err, u.Abort(ctx))
	}
	o, err := p.store.Head(ctx, key)
	p.add("takes an object in parts", err == nil && o.Size == PartSize+1, true, "")
	if deleted := p.store.Delete(ctx, key); !errors.Is(deleted, ErrRetained) {
		err = errors.Join(err, deleted)
	}
	return err
}

func (p *prober) list(ctx context.Context) error {
	page, err := p.store.List(ctx, p.key, "")
	p.add("lists what was just stored", len(page.Objects) == 1 && page.Objects[0].Key == p.key, true, "")
	return err
}

func (p *prober) clock(ctx context.Context) error {
	now, within, err := Clock(ctx, p.store)
	p.ahead = time.Until(now)
	off := (-p.ahead).Round(time.Second)
	same := off.Abs() <= within+time.Minute
	p.add("has the same time as this machine", same, false, "its clock is "+off.String()+" behind")
	return err
}

func (p *prober) remove(ctx context.Context) error {
	err := p.store.Delete(ctx, p.key)
	if errors.Is(err, ErrRetained) {
		p.kept = err
		return nil
	}
	return p.removed(ctx, p.key, err)
}

// removed judges a deletion that nothing forbids.
func (p *prober) removed(ctx context.Context, key string, err error) error {
	if errors.Is(err, ErrDenied) {
		p.add(deletes, false, false, "prune needs others")
		return nil
	}
	_, gone := p.store.Head(ctx, key)
	p.add(deletes, err == nil && errors.Is(gone, ErrNotFound), false, "")
	return err
}

const deletes = "lets these credentials delete"

// retainShortly is how long an object is retained that is to be deleted.
const retainShortly = 3 * time.Second

// retains says how a store retains each new object, and deletes one for which a shorter time was asked.
func (p *prober) retains(ctx context.Context, c Capabilities) error {
	o, err := p.store.Head(ctx, p.key)
	if err != nil {
		return err
	}
	how := c.Default
	if !o.RetainedUntil.IsZero() {
		how = strings.TrimPrefix(how+", until "+o.RetainedUntil.UTC().Format(time.RFC3339), ", ")
	}
	p.add("retains each new object", true, false, strings.TrimPrefix(how+
		"; the small objects of this trial, under "+Trials+", stay until their retention ends", "; "))
	if !c.Retention {
		p.add(deletes, false, false, "not tried: the store takes no shorter retention")
		return nil
	}
	key, until := Trials+"retained-"+rand.Text(), time.Now().Add(p.ahead+retainShortly)
	if err := p.store.Put(ctx, key, nil, Options{RetainUntil: until}); err != nil {
		return err
	}
	// Seconds count, and both clocks are known to the second.
	timer := time.NewTimer(retainShortly + 2*time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	err = p.store.Delete(ctx, key)
	if errors.Is(err, ErrRetained) {
		p.add(deletes, false, false, "not known: by the clock of this machine the retention has not ended")
		return nil
	}
	return p.removed(ctx, key, err)
}
