package health_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestScheduledRunsThatAreLeftOut: none begins beside one that is under way, and who reads it knows how many were to.
func TestScheduledRunsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 1, 5, 12, 0, 0, 0, time.UTC)
	const longer = "the scheduled backup of 2030-01-05 09:00 UTC takes longer than its interval: "
	for name, c := range map[string]struct {
		began, set, now time.Time
		want            string
	}{
		"in its own hour": {began: noon.Add(-3 * time.Hour), now: noon.Add(-121 * time.Minute)},
		"the next may still begin late": {began: noon.Add(-3 * time.Hour),
			now: noon.Add(-2*time.Hour + health.ScheduleGrace)},
		"the next is overdue": {began: noon.Add(-3 * time.Hour),
			now:  noon.Add(-2*time.Hour + health.ScheduleGrace + time.Second),
			want: longer + "1 that were due since did not begin"},
		"the next but one is due": {began: noon.Add(-3 * time.Hour), now: noon.Add(-time.Hour),
			want: longer + "2 that were due since did not begin"},
		"it has run for hours": {began: noon.Add(-3 * time.Hour), now: noon,
			want: longer + "3 that were due since did not begin"},
		"every hour since a moment ago": {began: noon.Add(-3 * time.Hour), set: noon.Add(-time.Minute), now: noon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(3)
			s.Now = noon
			s = opstest.Timed(s)
			s.Now = c.now
			s.Cluster.Spec.Backup.Schedule = "0 * * * *"
			s.Kube.Schedule.LastStarted, s.Kube.Schedule.LastDone = c.began, c.began.Add(-time.Minute)
			s.Kube.Schedule.Running = true
			if !c.set.IsZero() {
				s.Kube.Schedule.Since = c.set
			}
			got := health.Scheduled(s)
			if diff := cmp.Diff(c.want, got.Problem); diff != "" || (got.Reason == "Overlapping") != (c.want != "") {
				t.Errorf("%s (-want +got):\n%s", got.Reason, diff)
			}
		})
	}
}
