package health

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestVerificationDue(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	last := func(repository string, at time.Time) *v1alpha1.BackupReference {
		return &v1alpha1.BackupReference{Repository: repository, Time: metav1.NewTime(at)}
	}
	for name, c := range map[string]struct {
		every v1alpha1.Interval
		zone  string
		last  *v1alpha1.BackupReference
		want  bool
	}{
		"never":           {"", "", nil, false},
		"the first":       {v1alpha1.Weekly, "", nil, true},
		"elsewhere":       {v1alpha1.Weekly, "", last("other", monday), true},
		"last week":       {v1alpha1.Weekly, "", last("offsite", monday.Add(-3*time.Hour)), true},
		"this week":       {v1alpha1.Weekly, "", last("offsite", monday.Add(-time.Hour)), false},
		"this week there": {v1alpha1.Weekly, "Europe/Berlin", last("offsite", monday.Add(-3*time.Hour)), false},
		"yesterday":       {v1alpha1.Daily, "", last("offsite", monday.Add(-3*time.Hour)), true},
		"today":           {v1alpha1.Daily, "", last("offsite", monday.Add(-time.Hour)), false},
		"this month":      {v1alpha1.Monthly, "", last("offsite", monday.Add(-22*24*time.Hour)), false},
		"last month":      {v1alpha1.Monthly, "", last("offsite", monday.Add(-23*24*time.Hour)), true},
		"a year ago":      {v1alpha1.Monthly, "", last("offsite", monday.AddDate(-1, 0, 0)), true},
	} {
		if got := VerificationDue(c.every, "offsite", c.zone, c.last, monday); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestUnverified: the verdict of a cluster gets worse where a backup was to be verified and was not.
func TestUnverified(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		verified time.Duration
		where    string
		want     string
	}{
		"this week":      {6 * day, "offsite", ""},
		"on its way":     {8 * day, "offsite", ""},
		"two weeks ago":  {14 * day, "offsite", "Unverified"},
		"somewhere else": {day, "pvc:elsewhere", "Unverified"},
	} {
		s := opstest.Timed(opstest.Well(3))
		s.Cluster.Spec.Backup.Repository, s.Cluster.Spec.Backup.Verify = "offsite", v1alpha1.Weekly
		s.Cluster.Status.LastVerifiedBackup = &v1alpha1.BackupReference{Repository: c.where,
			Time: metav1.NewTime(s.Now.Add(-c.verified))}
		s.Kube.Schedule.Policy, s.Kube.Schedule.Since = s.Cluster.Spec.Backup, s.Now.Add(-30*day)
		s.Kube.Schedule.LastStarted, s.Kube.Schedule.LastDone = s.Now.Add(-time.Hour), s.Now.Add(-time.Hour)
		if got := Scheduled(s); got == nil || got.Reason != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		if level := Assess(quorate{}, s, verbs).Level; (level == Healthy) != (c.want == "") {
			t.Errorf("%s: the cluster is %v", name, level)
		}
	}
}
