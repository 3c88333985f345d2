package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Snapshot implements engine.Session: the member's own agent copies the data, and Check sees every byte of it.
func (s *Session) Snapshot(ctx context.Context, from string, w io.Writer, report func(int64)) error {
	c, err := s.client(from)
	if err != nil {
		return err
	}
	// What changes later is counted from the last checkpoint on. Where nobody asks for changes, none is written.
	place, err := c.Checkpoint(ctx)
	if err != nil {
		place = 0
	}
	return s.checked(from, w, report, "dump the data with a program of the database: kubectl dbop connect",
		func(w io.Writer) error { return c.CopyUpTo(ctx, place, w) })
}

// checked has every byte that a member streams seen by Check. The hint is that of a refusal.
func (s *Session) checked(from string, w io.Writer, report func(int64), hint string,
	stream func(io.Writer) error) error {
	if s.Check == nil {
		return &engine.Refusal{Check: "backup", Reason: "backups of this engine are not made yet",
			Hint: "dump the data with a program of the database: kubectl dbop connect"}
	}
	check := s.Check()
	err := stream(&counted{Writer: io.MultiWriter(check, w), report: report})
	wrong := check.Close()
	if refused, ok := errors.AsType[api.Refused](err); ok {
		return &engine.Refusal{Check: "backup", Reason: refused.Why, Hint: hint}
	}
	if err != nil {
		return err
	}
	if wrong != nil {
		return fmt.Errorf("check the copy of %s: %w", from, wrong)
	}
	return nil
}

// counted reports how many bytes passed.
type counted struct {
	io.Writer

	report func(int64)
	bytes  int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	if c.bytes += int64(n); c.report != nil {
		c.report(c.bytes)
	}
	return n, err
}

// Fingerprint implements engine.Session: the member's own agent describes the data.
func (s *Session) Fingerprint(ctx context.Context, member string) (engine.Fingerprint, error) {
	c, err := s.client(member)
	if err != nil {
		return engine.Fingerprint{}, err
	}
	got, err := c.Contents(ctx)
	if refused, ok := errors.AsType[api.Refused](err); ok {
		// A primary that is being promoted serves by its lease already: its server may still read its log.
		return engine.Fingerprint{}, fmt.Errorf("describe the data of %s: %s: %w", member, refused.Why, engine.ErrNotReady)
	}
	if err != nil {
		return engine.Fingerprint{}, fmt.Errorf("describe the data of %s: %w", member, err)
	}
	out := engine.Fingerprint{Proof: engine.Proof(got.Proof)}
	for _, r := range got.Readings {
		out.Readings = append(out.Readings, engine.Reading{Name: r.Name, Value: r.Value})
	}
	return out, nil
}

var _ engine.DataChecker = (*Session)(nil)

// CheckData implements engine.DataChecker: the member's own agent runs the program.
func (s *Session) CheckData(ctx context.Context, member string) (engine.DataCheck, error) {
	c, err := s.client(member)
	if err != nil {
		return engine.DataCheck{}, err
	}
	got, err := c.CheckData(ctx)
	if err != nil {
		return engine.DataCheck{}, fmt.Errorf("check the data of %s: %w", member, err)
	}
	return engine.DataCheck(got), nil
}
