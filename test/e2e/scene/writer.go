//go:build e2e

package scene

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// Writer is a pod that writes all the time.
type Writer struct {
	*harness.PodWriter

	scene *Scene
}

// Writes gives a writer that runs to a scene.
func (s *Scene) Writes(w *harness.PodWriter, err error) *Writer {
	s.Helper()
	s.OK(err)
	return &Writer{w, s}
}

// MustGoOn waits for more writes, and tells the longest gap since a moment.
func (w *Writer) MustGoOn(what string, since time.Time) {
	s := w.scene
	s.Helper()
	s.OK(w.GoesOn(s.Ctx, "clients write after: "+what))
	gap, err := w.LongestGap(s.Ctx, since, time.Now())
	s.OK(err)
	s.Logf("%s: no write was acknowledged for %s", what, gap.Round(time.Millisecond))
}

// Check ends the writer: everything that was acknowledged is among the numbers that are there.
func (w *Writer) Check(there func() []string) {
	s := w.scene
	s.Helper()
	acks, err := w.Stop(s.Ctx)
	s.OK(err)
	lost := harness.Missing(acks, there())
	if len(lost) > 0 || len(acks) < 20 {
		s.Errorf("of %d acknowledged writes %d are lost: %v", len(acks), len(lost), lost)
	}
	s.Logf("%d writes were acknowledged, and all are there", len(acks))
}
