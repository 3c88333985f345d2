//go:build linux

package movein

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

const (
	// haltTime bounds the time for which writes stop if it comes to nothing.
	haltTime = 20 * time.Second
	// nearEnough is how many bytes of the log may be on their way when writes stop: that is how long the stop takes.
	nearEnough = 16 << 20
)

// Halt closes the source, as api.Mover says. That all writers were stopped makes no difference: the databases of the
// source are closed in any case, and stay so until a person opens them.
func (m *Move) Halt(ctx context.Context, how api.Cutover, leads func() bool) (out api.Halted, err error) {
	if err := m.take(ctx); err != nil {
		return out, api.Refused{Why: "cut over from " + m.source.Address + ": " + err.Error()}
	}
	defer m.release()
	m.closed = false
	out, err = m.halt(ctx, how.Back, leads)
	if none, is := errors.AsType[api.NoBack](err); is && !m.closed {
		return out, none
	}
	if err != nil {
		return out, api.Refused{Why: "cut over from " + m.source.Address + ": " + err.Error()}
	}
	return out, nil
}

// take waits until the loop does nothing, which copies all data at times.
func (m *Move) take(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	select {
	case m.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errors.New("wait until its data is copied, or it answers")
	}
}

// release lets the loop go on.
func (m *Move) release() { <-m.busy }

// halt closes the source, and returns once all that was written there is here.
func (m *Move) halt(ctx context.Context, back bool, leads func() bool) (out api.Halted, err error) {
	now, err := m.server.readMark(ctx)
	switch {
	case err != nil:
		return out, err
	case now.Address != m.source.Address || now.Stage == "":
		return out, errors.New("wait until its data is copied")
	case now.Stage == stageBack || now.Stage == stageOpens:
		return out, errors.New("wait until it is followed")
	case !m.opened:
		return out, errors.New("wait until its databases are open again")
	case now.Stage == stageHolds || now.Stage == stageCloses:
		// An earlier request came that far, or could not open it again.
		if holds, err := m.stillClosed(ctx); err != nil || holds {
			return api.Halted{Since: time.Now(), Paused: api.UntilOpened}, errors.Join(err, m.backLate(ctx, back && holds))
		}
		if err := m.reopen(ctx, now); err != nil {
			return out, err
		}
	}
	if now.Volume != m.volume && !m.source.Kept {
		return out, errors.New("wait until its data is copied: the primary changed")
	}
	f, err := m.approach(ctx, now)
	if err != nil {
		return out, err
	}
	defer f.Leave()
	if back {
		if err := m.prepareBack(ctx); err != nil {
			return out, errors.Join(err, m.dropBack(ctx))
		}
	}
	out = api.Halted{Since: time.Now(), Paused: api.UntilOpened}
	bound, stop := context.WithDeadline(ctx, out.Since.Add(haltTime/2))
	defer stop()
	now.Stage = stageCloses
	if err := m.server.writeMark(bound, now); err != nil {
		return out, err
	}
	out.Compared, err = m.close(bound, f, now)
	if err == nil && !leads() {
		err = errors.New("this member is not the primary any more")
	}
	if err != nil && leads() { // else the next primary opens it
		err = errors.Join(err, m.reopen(context.WithoutCancel(ctx), now))
	}
	if err != nil {
		return out, err
	}
	m.closed = true
	return out, nil
}

// stillClosed says that the last cut over came to its end, and that nobody was let into the source since.
func (m *Move) stillClosed(ctx context.Context) (bool, error) {
	if m.held == nil {
		return false, nil
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	f, err := m.source.Approach(ctx, m.own, m.survey.Databases)
	if err != nil {
		return false, err
	}
	defer f.Leave()
	now, err := f.Identify(ctx)
	for name, then := range m.held {
		if now[name] != then {
			return false, err
		}
	}
	return err == nil, err
}

// approach sees that a cut over can begin, and opens the sessions for it.
func (m *Move) approach(ctx context.Context, now mark) (*source.Fence, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	if err := m.observe(ctx); err != nil {
		return nil, err
	}
	if err := m.differs(now, m.survey); err != nil {
		return nil, err
	}
	if len(m.survey.Unfit) > 0 {
		return nil, unfitError(m.survey.Unfit)
	}
	if err := m.confirm(ctx, now); err != nil {
		return nil, err
	}
	of, err := m.slots(ctx, now)
	switch {
	case err != nil:
		return nil, err
	case of.active != len(now.Schemas):
		return nil, errors.New("wait until it is followed: the connection to it is broken")
	case of.lag > nearEnough:
		return nil, fmt.Errorf("wait until it is followed closely: %d bytes are missing", of.lag)
	}
	f, err := m.source.Approach(ctx, m.own, m.survey.Databases)
	if err != nil {
		return nil, err
	}
	err = f.Enter(ctx)
	if err == nil {
		err = m.unprepared(ctx, f)
	}
	if err != nil {
		f.Leave()
		return nil, err
	}
	return f, nil
}

func (m *Move) unprepared(ctx context.Context, f *source.Fence) error {
	names, err := f.Prepared(ctx)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("transactions are prepared there, which could be committed later: commit or roll back %s",
			strings.Join(names, ", "))
	}
	return err
}

// close ends writes at the source, waits until all of them are here, and brings the sequences to where they are there.
// It returns what was compared.
func (m *Move) close(ctx context.Context, f *source.Fence, now mark) (compared string, err error) {
	end, err := f.Close(ctx)
	if err != nil {
		return "", err
	}
	confirm := func(ctx context.Context) error { return m.confirm(ctx, now) }
	if err := f.Reached(ctx, m.slot(now, ""), end, confirm); err != nil {
		return "", err
	}
	for i, d := range m.survey.Databases {
		definitions, sequences, err := f.Final(ctx, i)
		if err != nil {
			return "", err
		}
		if kinds := m.changed(now.Schemas[d.Name], definitions); len(kinds) > 0 {
			return "", fmt.Errorf("definitions in its database %q changed right now: %s", d.Name, strings.Join(kinds, ", "))
		}
		var b strings.Builder
		for _, q := range sequences {
			fmt.Fprintf(&b, "SELECT setval(%s, %s, %t); ", local.Literal(q.Sequence), q.Last, q.Called)
		}
		if _, err := m.server.OnceIn(ctx, d.Name, b.String()); err != nil {
			return "", fmt.Errorf("bring the sequences of the database %q to where they are at the source: %w", d.Name, err)
		}
	}
	if compared, err = m.compare(ctx, f); err != nil {
		return "", err
	}
	if m.way != nil {
		if err := m.leaveBack(ctx, f); err != nil {
			return "", err
		}
	}
	held, err := f.Held(ctx)
	if err != nil {
		return "", err
	}
	now.Stage = stageHolds
	if err := m.server.writeMark(ctx, now); err != nil {
		return "", err
	}
	m.held = held
	return compared, nil
}

// Unhalt opens the source again, as api.Mover says. A source that an earlier request closed stays closed: the agents
// may agree on that one yet.
func (m *Move) Unhalt(ctx context.Context) error {
	if err := m.take(ctx); err != nil {
		return err
	}
	defer m.release()
	if !m.closed {
		return errors.New("the source stays closed: ask for the cut over again")
	}
	now, err := m.server.readMark(ctx)
	if err != nil {
		return err
	}
	m.closed = false
	return m.reopen(ctx, now)
}

// reopen lets everybody into the source again, and goes on to follow it. After an error the loop does that.
func (m *Move) reopen(ctx context.Context, now mark) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	m.opened, m.held = false, nil
	err := m.source.Reopen(ctx, m.own)
	if err == nil {
		err = m.dropBack(ctx)
	}
	if err == nil && (now.Stage == stageCloses || now.Stage == stageHolds) {
		now.Stage = stageFollows
		err = m.server.writeMark(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("its databases may still be closed (ALTER DATABASE name ALLOW_CONNECTIONS true): %w", err)
	}
	m.opened = true
	return nil
}

// Leave ends that the source is followed, once the loop is over. The source itself is left as it is: see Tidy.
func (m *Move) Leave(ctx context.Context) error {
	m.cancel()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-m.ended:
	}
	return m.server.forget(ctx)
}

// Clean drops what an earlier primary of this cluster left of a source that it followed. It asks in a session that is
// open, as clients wait: the first new one after a promotion has the server build its caches.
func (s Server) Clean(ctx context.Context, ask func(context.Context, string) (local.Rows, error)) error {
	got, err := ask(ctx, "SELECT FROM pg_subscription WHERE subname = "+local.Literal(subscription))
	if err != nil || len(got[0]) == 0 {
		return err
	}
	return s.forget(ctx)
}

// forget drops what follows a source, in the data.
func (s Server) forget(ctx context.Context) error {
	s.Door.Shut()
	if err := s.unsubscribe(ctx); err != nil {
		return err
	}
	if _, err := s.Once(ctx, "DROP SUBSCRIPTION IF EXISTS "+login); err != nil {
		return err
	}
	return s.writeMark(ctx, mark{})
}

// Tidy drops the slots at the source, which would keep its log.
func (m *Move) Tidy() {
	if err := m.dropSlots(context.Background(), source.Keeper(m.survey.Databases)); err != nil {
		m.server.Report(fmt.Sprintf("slots at %s that begin with %s keep its log until somebody drops them: %v",
			m.source.Address, m.own, err))
	}
}
