package planner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// apart serves what concerns no member and must not wait for one: the schedule
// itself, and the backup that it takes, whose rights reach no further.
func (p Planner) apart() *ops.Decision {
	var d *ops.Decision
	switch {
	case p.S.Verb() == v1alpha1.VerbSchedule:
		d = p.Scheduling()
	case p.S.Verb() == v1alpha1.VerbBackup && p.S.Operation.Spec.Scheduled && p.S.Formed() && !p.S.Cluster.Spec.Stopped:
		d = p.backup()
	default:
		return nil
	}
	if d == nil {
		d = &ops.Decision{Done: true}
	}
	return d
}

// Scheduling makes, changes or removes what takes backups unasked. A cluster
// that is stopped begins none.
func (p Planner) Scheduling() *ops.Decision {
	have, want := p.S.Kube.Schedule, p.S.Cluster.Spec.Backup
	if have == nil {
		return nil // nobody looked, for none is wanted
	}
	switch p.S.Verb() {
	case v1alpha1.VerbSchedule, v1alpha1.VerbCreate, v1alpha1.VerbRepair, "":
	case v1alpha1.VerbStop, v1alpha1.VerbStart, v1alpha1.VerbRestore, v1alpha1.VerbRecover:
		if CronJobAlone(p.S) && !have.Exists() {
			return nil
		}
	default:
		return nil
	}
	name := v1alpha1.Schedule(p.S.Cluster.Name)
	if want.Schedule == "" {
		if len(have.Present) == 0 {
			return nil
		}
		return do(ops.Step{ID: "unschedule-backups", Action: ops.ActionUnschedule, Risk: ops.RiskNone, Deadline: StepDeadline,
			Title: "Take no scheduled backups any more; those that exist stay", Touches: health.Touched(have.Present, name)})
	}
	if scheduled(p.S) {
		return nil
	}
	step := ops.Step{ID: "schedule-backups", Action: ops.ActionSchedule, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: fmt.Sprintf("Back up to %s at %s", want.Repository, describeSchedule(want))}
	if p.S.Cluster.Spec.Stopped {
		step.Title = "Begin no scheduled backups while it is stopped"
	}
	step.Touches = health.Touched(have.Missing, name)
	if altered := scheduleAltered(p.S); len(altered) > 0 {
		step.Touches, step.Reason = nil, health.Change(altered[0])
		for _, d := range altered {
			if !slices.Contains(step.Touches, d.Object) {
				step.Touches = append(step.Touches, d.Object)
			}
		}
	}
	if CronJobAlone(p.S) {
		step.Touches = []string{health.KindCronJob + "/" + name}
	}
	return do(step)
}

// scheduled reports whether what takes backups is as it is wanted.
func scheduled(s ops.State) bool {
	have, c := s.Kube.Schedule, s.Cluster
	want, missing := c.Spec.Backup, len(have.Missing) > 0
	if CronJobAlone(s) {
		missing = slices.Contains(have.Missing, "CronJob")
	}
	if missing || len(scheduleAltered(s)) > 0 || have.Policy != want || have.Suspended != c.Spec.Stopped {
		return false
	}
	if c.Annotations[v1alpha1.AnnotationCustom] != "" && !have.Custom {
		return false
	}
	image := ScheduleImage(s)
	return image == "" || image == have.Image
}

// scheduleAltered are the differences that making the schedule again removes.
func scheduleAltered(s ops.State) []drift.Difference {
	var out []drift.Difference
	for _, d := range s.Kube.Differences {
		if kind := health.KindOf(d); kind == health.KindCronJob || health.OfSchedule(kind) && !CronJobAlone(s) {
			out = append(out, d)
		}
	}
	return out
}

// ScheduleImage is the image that is to take backups; "" where any will do.
func ScheduleImage(s ops.State) string {
	if s.Verb() == v1alpha1.VerbSchedule && s.Operation.Spec.Image != "" && !s.Cancelling() {
		return s.Operation.Spec.Image
	}
	return s.Cluster.Spec.HelperImage
}

// CronJobAlone reports whether it is only about runs being begun or not, and
// what the CronJob acts with stays as it is. To change that takes rights that
// not everybody has who stops a cluster.
func CronJobAlone(s ops.State) bool {
	switch s.Verb() {
	case v1alpha1.VerbStop, v1alpha1.VerbStart, v1alpha1.VerbRecover:
		return true
	case v1alpha1.VerbRestore:
		return s.Operation.Spec.InPlace
	}
	return false
}

// rescheduled predicts what takes backups as it is wanted.
func rescheduled(s *ops.State) {
	h, c := s.Kube.Schedule, s.Cluster
	if c.Spec.Backup.Schedule == "" {
		s.Kube.Schedule = &workload.Schedule{Missing: slices.Concat(h.Present, h.Missing)}
		return
	}
	h.Present, h.Missing = slices.Concat(h.Present, h.Missing), nil
	h.Policy, h.Suspended, h.Custom, h.Since = c.Spec.Backup, c.Spec.Stopped, c.Annotations[v1alpha1.AnnotationCustom] != "", s.Now
	if image := ScheduleImage(*s); image != "" {
		h.Image = image
	}
	mended := scheduleAltered(*s)
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d drift.Difference) bool { return slices.Contains(mended, d) })
}

// describeSchedule is a policy as people read it.
func describeSchedule(p v1alpha1.BackupPolicy) string {
	text := fmt.Sprintf("%q", p.Schedule)
	if p.TimeZone != "" {
		text += " " + p.TimeZone
	}
	if p.Keep > 0 {
		return text + fmt.Sprintf(", and keep the newest %d", p.Keep)
	}
	return text + ", and keep all"
}

// checkPolicy judges a schedule before it is written down: one that never
// comes due would be noticed when a backup is needed.
func checkPolicy(p v1alpha1.BackupPolicy) error {
	if p.Schedule == "" {
		return nil
	}
	refuse := func(hint, format string, args ...any) error {
		return &engine.Refusal{Check: "schedule", Reason: fmt.Sprintf(format, args...), Hint: hint}
	}
	at, err := repository.ParseLocation(p.Repository)
	if err != nil || at.Kind != repository.KindClaim {
		return refuse(`name a claim of the cluster's namespace: "pvc:CLAIM" or "pvc:CLAIM/PATH"`,
			"scheduled backups are taken inside the cluster, and %q is no place there", p.Repository)
	}
	if p.Keep < 0 {
		return refuse("0 keeps all", "%d backups can't be kept", p.Keep)
	}
	if p.TimeZone != "" {
		if _, err := time.LoadLocation(p.TimeZone); err != nil || p.TimeZone == "Local" {
			return refuse(`name one of the IANA database, such as "Europe/Berlin", or leave it out`, "there is no time zone %q", p.TimeZone)
		}
	}
	s, err := health.CronOf(p)
	switch {
	case strings.Contains(p.Schedule, "TZ"):
		return refuse("name the time zone beside the schedule", "%q names a time zone inside the schedule, which Kubernetes does not take", p.Schedule)
	case err != nil:
		return refuse(`five fields as cron has them: minute, hour, day of month, month, day of week; for example "0 2 * * *"`, "%q is no schedule: %v", p.Schedule, err)
	case s.Next(time.Unix(0, 0)).IsZero():
		return refuse("choose a day that exists", "%q never comes due", p.Schedule)
	}
	return nil
}
