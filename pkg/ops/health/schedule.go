package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// OfSchedule reports whether a difference is of an object of the schedule.
func OfSchedule(d drift.Difference) bool {
	return KindOf(d) == KindCronJob ||
		ofAccount(KindOf(d)) && strings.HasSuffix(ObjectName(d), v1alpha1.Schedule(""))
}

// ofAccount reports whether objects of a kind give rights to pods.
func ofAccount(kind string) bool {
	return slices.Contains([]string{KindAccount, KindRole, KindBinding}, kind)
}

// Touched names the objects of a schedule that a step changes, as KIND/NAME; none named are all.
func Touched(kinds []string, name string) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, strings.ToLower(k)+"/"+name)
	}
	if len(out) == 0 {
		out = []string{"cronjob/" + name}
	}
	return out
}

// CronOf is when backups are due.
func CronOf(p v1alpha1.BackupPolicy) (cron.Schedule, error) {
	zone := p.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	return cron.ParseStandard("CRON_TZ=" + zone + " " + p.Schedule)
}

// ScheduleGrace is how long after it was due a backup may be missing: it has
// to be started, to wait until it is next, and to be taken.
const ScheduleGrace = 30 * time.Minute

// Schedule says how scheduled backups go.
type Schedule struct {
	Policy v1alpha1.BackupPolicy `json:"policy"`
	// Problem is why there is none that should be there; "" if all is well.
	// Reason is it in a word: Failed, Overdue, Overlapping, Unverified, FailedProof, Missing, Incomplete or
	// Suspended.
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
	case "Unverified", FailedProof:
		return verifyNew(cluster)
	case "Overlapping":
		return "kubectl dbop backup schedule " + cluster
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
	return "OK"
}

// Scheduled judges the scheduled backups; nil if none are wanted, or if
// nobody could observe.
func Scheduled(s ops.State) *Schedule {
	if s.Cluster == nil || s.Cluster.Spec.Backup.Schedule == "" || s.Kube.Schedule == nil {
		return nil
	}
	have, name := s.Kube.Schedule, v1alpha1.Schedule(s.Cluster.Name)
	out := &Schedule{Policy: s.Cluster.Spec.Backup, Running: have.Running}
	tell := func(reason, format string, args ...any) *Schedule {
		out.Reason, out.Problem = reason, fmt.Sprintf(format, args...)
		return out
	}
	due, err := CronOf(s.Cluster.Spec.Backup)
	switch {
	case err != nil:
		return tell("Invalid", "backups are to be taken at %q, which is no schedule: %v",
			s.Cluster.Spec.Backup.Schedule, err)
	case s.Cluster.Spec.Stopped:
		return out // nothing to take one from, and nothing changes
	case !have.Exists():
		return tell("Missing", "backups are to be taken at %q, and cronjob %s is gone",
			s.Cluster.Spec.Backup.Schedule, name)
	case len(have.Missing) > 0:
		return tell("Incomplete", "scheduled backups can't be taken: %s is gone or was changed",
			strings.Join(Touched(have.Missing, name), ", "))
	case have.Suspended:
		return tell("Suspended", "no scheduled backups are taken: cronjob %s is suspended", name)
	}
	next := due.Next(s.Now)
	out.Next = &next
	last := lastBackedUp(s)
	switch missed := due.Next(latest(last, have.Since)); {
	case have.Running && !have.LastStarted.After(missed):
		if n := leftOut(s, due); n > 0 {
			return tell("Overlapping", "the scheduled backup of %s takes longer than its interval: %d that were due since "+
				"did not begin", stamped(have.LastStarted), n)
		}
		return out
	case !have.Running && have.LastStarted.After(last):
		return tell("Failed", "the scheduled backup of %s failed: kubectl logs -l %s=%s,%s=%s shows why",
			stamped(have.LastStarted),
			v1alpha1.LabelCluster, s.Cluster.Name, v1alpha1.LabelPurpose, workload.PurposeBackup)
	case missed.Add(ScheduleGrace).Before(s.Now):
		return tell("Overdue", "a backup was due at %s and was not taken", stamped(missed))
	}
	if failed := failedProof(s); failed != "" {
		return tell(FailedProof, "%s", failed)
	}
	if missed, ok := unverified(s, due); ok {
		return tell("Unverified", "a backup was to be verified at %s and was not: kubectl logs -l %s=%s,%s=%s shows why",
			stamped(missed), v1alpha1.LabelCluster, s.Cluster.Name, v1alpha1.LabelPurpose, workload.PurposeBackup)
	}
	return out
}

// mostLeftOut is how many runs are counted: a schedule may be of each minute.
const mostLeftOut = 1000

// leftOut is how many runs came due while one is under way, beside which none begins. The newest of them may begin
// late, so a single one counts once it is overdue.
func leftOut(s ops.State, due cron.Schedule) int {
	began := latest(s.Kube.Schedule.LastStarted, s.Kube.Schedule.Since)
	first, n := due.Next(began), 0
	for t := first; !t.IsZero() && !t.After(s.Now) && n < mostLeftOut; t = due.Next(t) {
		n++
	}
	if n == 1 && !first.Add(ScheduleGrace).Before(s.Now) {
		return 0
	}
	return n
}

// unverified is when a backup was to be verified that was not; false if all is well.
func unverified(s ops.State, due cron.Schedule) (time.Time, bool) {
	p := s.Cluster.Spec.Backup
	if p.Verify == "" {
		return time.Time{}, false
	}
	last := s.Kube.Schedule.Since
	if v := s.Cluster.Status.LastVerifiedBackup; v != nil && v.Repository == p.Repository {
		last = latest(last, v.Time.Time)
	}
	missed := due.Next(last.Add(longestPeriod(p.Verify)))
	return missed, missed.Add(verifyGrace).Before(s.Now)
}

// lastBackedUp is when the newest backup in the schedule's repository was
// complete, no matter who took it.
func lastBackedUp(s ops.State) time.Time {
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
