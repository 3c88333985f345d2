package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// rescheduled predicts what takes backups as it is wanted.
func rescheduled(p rules.Situation, s *ops.State) {
	h, c := s.Kube.Schedule, s.Cluster
	if c.Spec.Backup.Schedule == "" {
		s.Kube.Schedule = &workload.Schedule{Missing: slices.Concat(h.Present, h.Missing)}
		return
	}
	h.Present, h.Missing = slices.Concat(h.Present, h.Missing), nil
	h.Policy, h.Suspended, h.Custom, h.Since = c.Spec.Backup, c.Spec.Stopped,
		c.Annotations[v1alpha1.AnnotationCustom] != "", s.Now
	if image := p.ScheduleImage(); image != "" {
		h.Image = image
	}
	mended := p.ScheduleAltered()
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences),
		func(d drift.Difference) bool { return slices.Contains(mended, d) })
}
