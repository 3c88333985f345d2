package ops

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// apart serves what concerns no member and must not wait for one: the schedule
// itself, and the backup that it takes, whose rights reach no further.
func (p planner) apart() *Decision {
	var d *Decision
	switch {
	case p.s.verb() == v1alpha1.VerbSchedule:
		d = p.scheduling()
	case p.s.verb() == v1alpha1.VerbBackup && p.s.Operation.Spec.Scheduled && p.s.formed() && !p.s.Cluster.Spec.Stopped:
		d = p.backup()
	default:
		return nil
	}
	if d == nil {
		d = &Decision{Done: true}
	}
	return d
}

// scheduling makes, changes or removes what takes backups unasked. A cluster
// that is stopped begins none.
func (p planner) scheduling() *Decision {
	have, want := p.s.Kube.Schedule, p.s.Cluster.Spec.Backup
	if have == nil {
		return nil // nobody looked, for none is wanted
	}
	switch p.s.verb() {
	case v1alpha1.VerbSchedule, v1alpha1.VerbCreate, v1alpha1.VerbRepair, "":
	case v1alpha1.VerbStop, v1alpha1.VerbStart, v1alpha1.VerbRestore, v1alpha1.VerbRecover:
		if p.s.cronJobAlone() && !have.Exists() {
			return nil
		}
	default:
		return nil
	}
	name := v1alpha1.Schedule(p.s.Cluster.Name)
	if want.Schedule == "" {
		if len(have.Present) == 0 {
			return nil
		}
		return do(Step{ID: "unschedule-backups", Action: ActionUnschedule, Risk: RiskNone, Deadline: stepDeadline,
			Title: "Take no scheduled backups any more; those that exist stay", Touches: touched(have.Present, name)})
	}
	if p.s.scheduled() {
		return nil
	}
	step := Step{ID: "schedule-backups", Action: ActionSchedule, Risk: RiskNone, Deadline: stepDeadline,
		Title: fmt.Sprintf("Back up to %s at %s", want.Repository, describeSchedule(want))}
	if p.s.Cluster.Spec.Stopped {
		step.Title = "Begin no scheduled backups while it is stopped"
	}
	step.Touches = touched(have.Missing, name)
	if altered := p.s.scheduleAltered(); len(altered) > 0 {
		step.Touches, step.Reason = nil, change(altered[0])
		for _, d := range altered {
			if !slices.Contains(step.Touches, d.Object) {
				step.Touches = append(step.Touches, d.Object)
			}
		}
	}
	if p.s.cronJobAlone() {
		step.Touches = []string{kindCronJob + "/" + name}
	}
	return do(step)
}

// scheduled reports whether what takes backups is as it is wanted.
func (s State) scheduled() bool {
	have, c := s.Kube.Schedule, s.Cluster
	want, missing := c.Spec.Backup, len(have.Missing) > 0
	if s.cronJobAlone() {
		missing = slices.Contains(have.Missing, "CronJob")
	}
	if missing || len(s.scheduleAltered()) > 0 || have.Policy != want || have.Suspended != c.Spec.Stopped {
		return false
	}
	if c.Annotations[v1alpha1.AnnotationCustom] != "" && !have.Custom {
		return false
	}
	image := s.scheduleImage()
	return image == "" || image == have.Image
}

// scheduleAltered are the differences that making the schedule again removes.
func (s State) scheduleAltered() []kube.Difference {
	var out []kube.Difference
	for _, d := range s.Kube.Differences {
		if kind := kindOf(d); kind == kindCronJob || ofSchedule(kind) && !s.cronJobAlone() {
			out = append(out, d)
		}
	}
	return out
}

// ofSchedule reports whether objects of a kind belong to the schedule.
func ofSchedule(kind string) bool {
	return slices.Contains([]string{kindCronJob, "serviceaccount", "role", "rolebinding"}, kind)
}

// scheduleImage is the image that is to take backups; "" where any will do.
func (s State) scheduleImage() string {
	if s.verb() == v1alpha1.VerbSchedule && s.Operation.Spec.Image != "" && !s.cancelling() {
		return s.Operation.Spec.Image
	}
	return s.Cluster.Spec.HelperImage
}

// cronJobAlone reports whether it is only about runs being begun or not, and
// what the CronJob acts with stays as it is. To change that takes rights that
// not everybody has who stops a cluster.
func (s State) cronJobAlone() bool {
	switch s.verb() {
	case v1alpha1.VerbStop, v1alpha1.VerbStart, v1alpha1.VerbRecover:
		return true
	case v1alpha1.VerbRestore:
		return s.Operation.Spec.InPlace
	}
	return false
}

// rescheduled predicts what takes backups as it is wanted.
func (s *State) rescheduled() {
	h, c := s.Kube.Schedule, s.Cluster
	if c.Spec.Backup.Schedule == "" {
		s.Kube.Schedule = &kube.Schedule{Missing: slices.Concat(h.Present, h.Missing)}
		return
	}
	h.Present, h.Missing = slices.Concat(h.Present, h.Missing), nil
	h.Policy, h.Suspended, h.Custom, h.Since = c.Spec.Backup, c.Spec.Stopped, c.Annotations[v1alpha1.AnnotationCustom] != "", s.Now
	if image := s.scheduleImage(); image != "" {
		h.Image = image
	}
	mended := s.scheduleAltered()
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d kube.Difference) bool { return slices.Contains(mended, d) })
}

func touched(kinds []string, name string) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, strings.ToLower(k)+"/"+name)
	}
	if len(out) == 0 {
		out = []string{"cronjob/" + name}
	}
	return out
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
	s, err := cronOf(p)
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

// cronOf is when backups are due.
func cronOf(p v1alpha1.BackupPolicy) (cron.Schedule, error) {
	zone := p.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return cron.ParseStandard("CRON_TZ=" + zone + " " + p.Schedule)
}

// scheduleGrace is how long after it was due a backup may be missing: it has
// to be begun, to wait its turn, and to be taken.
const scheduleGrace = 30 * time.Minute
