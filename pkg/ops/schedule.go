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

// Schedule says how scheduled backups go.
type Schedule struct {
	Policy v1alpha1.BackupPolicy `json:"policy"`
	// Problem is why there is none that should be there; "" if all is well.
	// Reason is it in a word: Failed, Overdue, Missing, Incomplete or Suspended.
	Reason  string `json:"reason,omitempty"`
	Problem string `json:"problem,omitempty"`
	Running bool   `json:"running,omitempty"`
	// Next is when the next one is due.
	Next *time.Time `json:"next,omitempty"`
}

// remedy is the command that mends a problem: one that is not as it was made is
// put back, and where a backup is missing, one is taken.
func (s *Schedule) remedy(cluster string) string {
	switch s.Reason {
	case "Missing", "Incomplete", "Suspended":
		return "kubectl dbop repair " + cluster
	}
	return "kubectl dbop backup " + cluster
}

// State is how scheduled backups go, in a few words.
func (s *Schedule) State() string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.Running:
		return "a backup is being taken"
	case s.Next == nil:
		return "none is taken while the cluster is stopped"
	}
	return "well"
}

// Scheduled judges the scheduled backups; nil if none are wanted, or if
// nobody could look.
func (s State) Scheduled() *Schedule {
	if s.Cluster == nil || s.Cluster.Spec.Backup.Schedule == "" || s.Kube.Schedule == nil {
		return nil
	}
	have, name := s.Kube.Schedule, v1alpha1.Schedule(s.Cluster.Name)
	out := &Schedule{Policy: s.Cluster.Spec.Backup, Running: have.Running}
	tell := func(reason, format string, args ...any) *Schedule {
		out.Reason, out.Problem = reason, fmt.Sprintf(format, args...)
		return out
	}
	due, err := cronOf(s.Cluster.Spec.Backup)
	switch {
	case err != nil:
		return tell("Invalid", "backups are to be taken at %q, which is no schedule: %v", s.Cluster.Spec.Backup.Schedule, err)
	case s.Cluster.Spec.Stopped:
		return out // nothing to take one from, and nothing changes
	case !have.Exists():
		return tell("Missing", "backups are to be taken at %q, and cronjob %s is gone", s.Cluster.Spec.Backup.Schedule, name)
	case len(have.Missing) > 0:
		return tell("Incomplete", "scheduled backups can't be taken: %s is gone or was changed", strings.Join(touched(have.Missing, name), ", "))
	case have.Suspended:
		return tell("Suspended", "no scheduled backups are taken: cronjob %s is suspended", name)
	}
	next := due.Next(s.Now)
	out.Next = &next
	last := s.lastBackedUp()
	switch missed := due.Next(latest(last, have.Since)); {
	case have.Running && !have.LastBegun.After(missed):
		return out
	case !have.Running && have.LastBegun.After(last):
		return tell("Failed", "the scheduled backup of %s failed: kubectl logs -l %s=%s,%s=%s shows why", stamped(have.LastBegun),
			v1alpha1.LabelCluster, s.Cluster.Name, v1alpha1.LabelPurpose, kube.PurposeBackup)
	case missed.Add(scheduleGrace).Before(s.Now):
		return tell("Overdue", "a backup was due at %s and was not taken", stamped(missed))
	}
	return out
}

// lastBackedUp is when the newest backup in the schedule's repository was
// complete, whoever took it.
func (s State) lastBackedUp() time.Time {
	last := s.Kube.Schedule.LastDone
	if b := s.Cluster.Status.LastBackup; b != nil && b.Repository == s.Cluster.Spec.Backup.Repository {
		last = latest(last, b.Time.Time)
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func stamped(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
