//go:build e2e

package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// writer is a pod that writes all the time.
type writer struct {
	*harness.PodWriter
	scene *scene
}

// write starts a writer, and returns once it was acknowledged a row.
func (s *scene) write(r harness.PostgresRelease) *writer {
	s.Helper()
	return s.writeFrom("", r)
}

// writeFrom starts a writer on a node.
func (s *scene) writeFrom(node string, r harness.PostgresRelease) *writer {
	s.Helper()
	s.sql(harness.PostgresTable)
	spec := harness.PostgresWriter(s.ns, "db", r.Image)
	spec.Node = node
	w, err := s.site.StartPodWriter(s.ctx, spec)
	s.ok(err)
	return &writer{w, s}
}

// goesOn waits for more rows.
func (w *writer) goesOn(what string) {
	w.scene.Helper()
	w.scene.ok(w.GoesOn(w.scene.ctx, what))
}

// gap is the longest time without an acknowledgement since a moment.
func (w *writer) gap(since time.Time) time.Duration {
	w.scene.Helper()
	gap, err := w.LongestGap(w.scene.ctx, since, time.Now())
	w.scene.ok(err)
	return gap
}

// fewestRows must have been acknowledged for a check to say something.
const fewestRows = 20

// enough waits for so many rows: what is done meanwhile may take less time than the writer needs for them.
func (w *writer) enough() {
	s := w.scene
	s.Helper()
	s.ok(harness.Until(s.ctx, readWithin, "more rows to be written", func(ctx context.Context) error {
		acks, err := w.Acks(ctx)
		if err == nil && len(acks) < fewestRows {
			err = fmt.Errorf("%d rows were acknowledged", len(acks))
		}
		return err
	}))
}

// check ends the writer: every row that was acknowledged is there.
func (w *writer) check() {
	s := w.scene
	s.Helper()
	acks, err := w.Stop(s.ctx)
	s.ok(err)
	lost := harness.Missing(acks, strings.Fields(s.sql("SELECT n FROM written")))
	if len(lost) > 0 || len(acks) < fewestRows {
		s.Errorf("of %d acknowledged rows %d are lost: %v", len(acks), len(lost), lost)
	}
	s.Logf("%d rows were acknowledged, and all are there", len(acks))
}
