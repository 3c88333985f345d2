package health

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// verifyGrace is how long after it was due a verification may be missing: the backup has to be taken, and restored.
const verifyGrace = 4 * time.Hour

// periodOf names the day, week (from Monday) or month of a moment.
func periodOf(every v1alpha1.Interval, t time.Time) [2]int {
	switch every {
	case v1alpha1.Daily:
		return [2]int{t.Year(), t.YearDay()}
	case v1alpha1.Weekly:
		year, week := t.ISOWeek()
		return [2]int{year, week}
	}
	return [2]int{t.Year(), int(t.Month())}
}

// VerificationDue reports whether the backup that is taken now is the one to verify: none of its repository was
// verified in this day, week or month of the time zone.
func VerificationDue(every v1alpha1.Interval, repository, zone string, last *v1alpha1.BackupReference,
	now time.Time) bool {
	if every == "" {
		return false
	}
	if last == nil || last.Repository != repository {
		return true
	}
	return !samePeriod(every, zone, last.Time.Time, now)
}

// FullDue reports whether the backup that is taken now is to hold all data: the newest one that does is not of this
// day, week or month of the time zone.
func FullDue(every v1alpha1.Interval, zone string, newest, now time.Time) bool {
	return every == "" || !samePeriod(every, zone, newest, now)
}

// samePeriod reports whether two moments are of the same day, week or month of a time zone.
func samePeriod(every v1alpha1.Interval, zone string, a, b time.Time) bool {
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return periodOf(every, a.In(at)) == periodOf(every, b.In(at))
}

// longestPeriod is the longest time between two verifications that are taken when they are due.
func longestPeriod(every v1alpha1.Interval) time.Duration {
	const day = 24 * time.Hour
	switch every {
	case v1alpha1.Daily:
		return day
	case v1alpha1.Weekly:
		return 7 * day
	}
	return 31 * day
}
