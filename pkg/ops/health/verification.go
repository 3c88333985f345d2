package health

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// verifyGrace is how long after it was due a verification may be missing: the backup has to be taken, and restored.
const verifyGrace = 4 * time.Hour

// periodOf names the day, week (from Monday) or month of a moment.
func periodOf(every v1alpha1.VerifyEvery, t time.Time) [2]int {
	switch every {
	case v1alpha1.VerifyDaily:
		return [2]int{t.Year(), t.YearDay()}
	case v1alpha1.VerifyWeekly:
		year, week := t.ISOWeek()
		return [2]int{year, week}
	}
	return [2]int{t.Year(), int(t.Month())}
}

// VerificationDue reports whether the backup that is taken now is the one to verify: none of its repository was
// verified in this day, week or month of the time zone.
func VerificationDue(every v1alpha1.VerifyEvery, repository, zone string, last *v1alpha1.BackupReference,
	now time.Time) bool {
	if every == "" {
		return false
	}
	if last == nil || last.Repository != repository {
		return true
	}
	at, err := time.LoadLocation(zone)
	if err != nil {
		at = time.UTC
	}
	return periodOf(every, last.Time.In(at)) != periodOf(every, now.In(at))
}

// longestPeriod is the longest time between two verifications that are taken when they are due.
func longestPeriod(every v1alpha1.VerifyEvery) time.Duration {
	const day = 24 * time.Hour
	switch every {
	case v1alpha1.VerifyDaily:
		return day
	case v1alpha1.VerifyWeekly:
		return 7 * day
	}
	return 31 * day
}
