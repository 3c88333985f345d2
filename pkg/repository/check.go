package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/wire"
)

// CheckReply is a line of the answer to a check: how many bytes were read so far, and at the end that all are right, or
// what is wrong.
type CheckReply struct {
	Bytes int64       `json:"bytes"`
	Whole bool        `json:"whole,omitempty"`
	Fault *wire.Fault `json:"fault,omitempty"`
}

// Checker is a Repository that reads a backup where it is kept.
type Checker interface {
	// Check reads the data of a backup to its end, and compares it with what the manifest says, as a Reader does. No byte
	// of it is sent. report hears how many were read. errors.ErrUnsupported if the other side is of an older version.
	Check(ctx context.Context, id string, report func(int64)) error
}

// Check has all that a restore of a backup takes read where it is kept, and compared. report, which may be nil, hears
// how many bytes were read of how many. errors.ErrUnsupported if this is no Checker, or one can't: then who asks must
// read it.
func Check(ctx context.Context, r Repository, id string, report func(bytes, total int64)) error {
	checker, ok := r.(Checker)
	if !ok {
		return errors.ErrUnsupported
	}
	m, err := r.Get(ctx, id)
	if err != nil {
		return err
	}
	all := []Manifest{m}
	if m.Parent != "" {
		first, err := full(ctx, r, m)
		if err != nil {
			return err
		}
		all = append(all, first)
	}
	total, before := int64(0), int64(0)
	for _, m := range all {
		total += m.Bytes
	}
	for _, m := range all {
		if err := checker.Check(ctx, m.ID, func(n int64) {
			if report != nil {
				report(before+n, total)
			}
		}); err != nil {
			return err
		}
		before += m.Bytes
	}
	return nil
}

// Check implements Checker.
func (r *Remote) Check(ctx context.Context, id string, report func(int64)) error {
	if err := CheckID(id); err != nil {
		return err
	}
	if err := r.check(ctx, id, report); err != nil {
		return fmt.Errorf("check backup %s in %s: %w", id, r.url, err)
	}
	return nil
}

func (r *Remote) check(ctx context.Context, id string, report func(int64)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, repositoryURL+backupPath(id, "check"), nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	if err := Faults().Check(resp); err != nil {
		if resp.StatusCode == http.StatusNotFound && !errors.Is(err, ErrNotFound) {
			return errors.ErrUnsupported
		}
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := json.NewDecoder(io.LimitReader(resp.Body, maxListing))
	for {
		var line CheckReply
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case line.Fault != nil:
			return Faults().Unpack(*line.Fault)
		}
		report(line.Bytes)
		if line.Whole {
			return nil
		}
	}
}
