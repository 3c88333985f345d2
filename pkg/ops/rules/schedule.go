package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Scheduling makes, changes or removes what takes backups unasked. A cluster
// that is stopped begins none.
func (p Situation) Scheduling() *ops.Decision {
	have, want := p.S.Kube.Schedule, p.S.Cluster.Spec.Backup
	if have == nil {
		return nil // nobody checked, for none is wanted
	}
	switch p.scheduleScope() {
	case ScheduleKept:
		return nil
	case ScheduleSuspended:
		if !have.Exists() {
			return nil
		}
	}
	name := v1alpha1.Schedule(p.S.Cluster.Name)
	if want.Schedule == "" {
		if len(have.Present) == 0 {
			return nil
		}
		return Do(ops.Step{ID: "unschedule-backups", Action: ops.ActionUnschedule, Risk: ops.RiskNone,
			Deadline: StepDeadline,
			Title:    "Take no scheduled backups any more; those that exist stay",
			Touches:  health.Touched(have.Present, name)})
	}
	if p.scheduled() {
		return nil
	}
	step := ops.Step{ID: "schedule-backups", Action: ops.ActionSchedule, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: fmt.Sprintf("Back up to %s at %s", want.Repository, DescribeSchedule(want))}
	if image := p.ScheduleImage(); have.Exists() && image != "" && image != have.Image {
		step.Reason = "its pods are to come from " + image
	}
	if p.S.Cluster.Spec.Stopped {
		step.Title = "Begin no scheduled backups while it is stopped"
	}
	step.Touches = health.Touched(have.Missing, name)
	if altered := p.ScheduleAltered(); len(altered) > 0 {
		step.Touches, step.Reason = nil, health.Change(altered[0])
		for _, d := range altered {
			if !slices.Contains(step.Touches, d.Object) {
				step.Touches = append(step.Touches, d.Object)
			}
		}
	}
	if p.CronJobAlone() {
		step.Touches = []string{health.KindCronJob + "/" + name}
	}
	return Do(step)
}

// scheduled reports whether what takes backups is as it is wanted.
func (p Situation) scheduled() bool {
	have, c := p.S.Kube.Schedule, p.S.Cluster
	want, missing := c.Spec.Backup, len(have.Missing) > 0
	if p.CronJobAlone() {
		missing = slices.Contains(have.Missing, "CronJob")
	}
	if missing || len(p.ScheduleAltered()) > 0 || have.Policy != want || have.Suspended != c.Spec.Stopped {
		return false
	}
	if c.Annotations[v1alpha1.AnnotationCustom] != "" && !have.Custom {
		return false
	}
	image := p.ScheduleImage()
	return image == "" || image == have.Image
}

// ScheduleAltered are the differences that making the schedule again removes.
func (p Situation) ScheduleAltered() []drift.Difference {
	var out []drift.Difference
	for _, d := range p.S.Kube.Differences {
		if health.KindOf(d) == health.KindCronJob || health.OfSchedule(d) && !p.CronJobAlone() {
			out = append(out, d)
		}
	}
	return out
}

// ScheduleImage is the image that is to take backups; "" where any will do.
func (p Situation) ScheduleImage() string {
	if p.scheduleScope() == ScheduleMade && p.S.Operation != nil && p.S.Operation.Spec.Image != "" && !p.S.Cancelling() {
		return p.S.Operation.Spec.Image
	}
	return p.S.Cluster.Spec.HelperImage
}

// CronJobAlone reports whether it is only about runs being started or not, and
// what the CronJob acts with stays as it is. To change that takes rights that
// not everybody has who stops a cluster.
func (p Situation) CronJobAlone() bool { return p.scheduleScope() == ScheduleSuspended }

// scheduleScope is what may be done to scheduled backups: all of it while no operation is in flight. One that replaces
// the data in place changes nothing but whether runs begin.
func (p Situation) scheduleScope() ScheduleScope {
	switch {
	case p.S.Operation == nil:
		return ScheduleMade
	case p.S.Operation.Spec.InPlace:
		return ScheduleSuspended
	case p.renewsImage():
		return ScheduleMade
	}
	return p.Traits.Schedule
}

// DescribeSchedule is a policy as people read it.
func DescribeSchedule(p v1alpha1.BackupPolicy) string {
	text := fmt.Sprintf("%q", p.Schedule)
	if p.TimeZone != "" {
		text += " " + p.TimeZone
	}
	if p.Full != "" {
		text += ", full " + string(p.Full)
	}
	if p.Verify != "" {
		text += ", verify " + string(p.Verify)
	}
	return text + ", and keep " + cmp.Or(p.Kept(), "all")
}
