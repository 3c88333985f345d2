package engine

import (
	"context"
	"fmt"
	"io"
)

// readOnly refuses every method that changes something. It does not embed the
// session, so that a method added to the contract must be decided on here.
type readOnly struct{ session Session }

// ReadOnly wraps a session for a dry run: methods that change something
// return ErrReadOnly and don't reach the database, all others work.
func ReadOnly(s Session) Session { return readOnly{s} }

func (readOnly) Register(_ context.Context, member string) error {
	return fmt.Errorf("register member %s: %w", member, ErrReadOnly)
}

// RegisterWitness implements WitnessRegistrar.
func (readOnly) RegisterWitness(_ context.Context, member string) error {
	return fmt.Errorf("register witness %s: %w", member, ErrReadOnly)
}

func (readOnly) Promote(_ context.Context, member string) error {
	return fmt.Errorf("promote member %s: %w", member, ErrReadOnly)
}

func (readOnly) Deregister(_ context.Context, member, _ string) error {
	return fmt.Errorf("deregister member %s: %w", member, ErrReadOnly)
}

func (readOnly) HandOver(_ context.Context, to string) error {
	return fmt.Errorf("hand over to member %s: %w", to, ErrReadOnly)
}

func (r readOnly) Observe(ctx context.Context, members []string) View {
	return r.session.Observe(ctx, members)
}

func (r readOnly) Snapshot(ctx context.Context, from string, w io.Writer, report func(bytes int64)) error {
	return r.session.Snapshot(ctx, from, w, report)
}

func (r readOnly) Fingerprint(ctx context.Context, member string) (Fingerprint, error) {
	return r.session.Fingerprint(ctx, member)
}

// Users implements UserLister.
func (r readOnly) Users(ctx context.Context) ([]User, error) {
	if l, ok := r.session.(UserLister); ok {
		return l.Users(ctx)
	}
	return nil, nil
}

// HasUser implements UserJudge; an engine without it can't be asked.
func (r readOnly) HasUser(ctx context.Context, u User) (bool, error) {
	if j, ok := r.session.(UserJudge); ok {
		return j.HasUser(ctx, u)
	}
	return false, fmt.Errorf("judge user %s: %w", u.Name, ErrReadOnly)
}

// TestLogin implements LoginTester; an engine without it can't be asked.
func (r readOnly) TestLogin(ctx context.Context, as Credentials) (bool, error) {
	if t, ok := r.session.(LoginTester); ok {
		return t.TestLogin(ctx, as)
	}
	return false, fmt.Errorf("log in as %s: %w", as.User, ErrReadOnly)
}

// Present reads; of an engine that serves no certificates there is nothing to read.
func (r readOnly) Present(ctx context.Context, member string) (Presented, error) {
	if p, ok := r.session.(Presenter); ok {
		return p.Present(ctx, member)
	}
	return Presented{}, fmt.Errorf("shake hands with member %s: %w", member, ErrReadOnly)
}

// ReadOptions implements OptionReader; an engine without it can't be asked.
func (r readOnly) ReadOptions(ctx context.Context) ([]LiveOption, error) {
	if l, ok := r.session.(OptionReader); ok {
		return l.ReadOptions(ctx)
	}
	return nil, nil
}

func (r readOnly) Close() error { return r.session.Close() }
