package planner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// oneBackup is a repository of one backup.
type oneBackup struct {
	repository.Repository

	data string
	err  error
}

func (o oneBackup) URL() string { return "dir:/backups" }

// Present says that all is there: no byte of it was read.
func (o oneBackup) Present(context.Context, string) error { return nil }

func (o oneBackup) Reader(context.Context, string) (io.ReadCloser, repository.Manifest, error) {
	return io.NopCloser(strings.NewReader(o.data)), repository.Manifest{}, o.err
}

// checked is an engine whose backups end with a full stop.
type checked struct{ opstest.Stub }

func (checked) CheckStream() io.WriteCloser { return &check{} }

type check struct{ bytes.Buffer }

func (s *check) Close() error {
	if !strings.HasSuffix(s.String(), ".") {
		return engine.ErrNotSnapshot
	}
	return nil
}

func TestWholeBackup(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		repository oneBackup
		cause      error
	}{
		"whole":       {oneBackup{data: "all of it."}, nil},
		"cut off":     {oneBackup{data: "all of"}, engine.ErrNotSnapshot},
		"not legible": {oneBackup{err: gone}, gone},
	} {
		err := WholeBackup(t.Context(), c.repository, repository.Manifest{ID: "b1"}, checked{})
		if !errors.Is(err, c.cause) || (err == nil) != (c.cause == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if e, ok := errors.AsType[*ops.Error](err); err != nil &&
			(!ok || e.Kind != ops.Refused || !strings.Contains(e.Hint, "--repository dir:/backups")) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}
