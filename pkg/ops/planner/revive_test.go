package planner

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// silent is a cluster of three whose joiner runs for so long and says nothing.
func silent(runs time.Duration, change func(*ops.State, *observe.Pod)) func() ops.State {
	return sized(v1alpha1.VerbScale, 5, func(s *ops.State) {
		opstest.Join(s, "db-4", false)
		s.View.MemberList[3].Started = false
		opstest.Down(s, "db-4", "", 0)
		pod := &s.Kube.Members[3].Pod
		pod.Running, pod.Started, pod.Created = true, s.Now.Add(-runs), s.Now.Add(-runs-time.Second)
		change(s, pod)
	})
}

// startedAgo writes down that the restart was started so long ago.
func startedAgo(s *ops.State, ago time.Duration) {
	s.Operation.Status.Journal = append(s.Operation.Status.Journal,
		v1alpha1.JournalEntry{Step: "revive-member/db-4", StartedAt: metav1.NewTime(s.Now.Add(-ago))})
}

func TestDecideRevive(t *testing.T) {
	t.Parallel()
	same := func(*ops.State, *observe.Pod) {}
	ask(t, opstest.Stub{}, []question{
		{"a joiner that is quick enough still", silent(40*time.Second, same), "wait/joined"},
		{"a joiner that hangs", silent(50*time.Second, same), "revive-member/db-4"},
		{"it answers, and never announced itself", silent(50*time.Second,
			func(s *ops.State, _ *observe.Pod) { s.View.Members[3].Reachable = true }), "revive-member/db-4"},
		{"it is ready", silent(time.Hour, func(_ *ops.State, p *observe.Pod) { p.Ready = true }), "wait/joined"},
		{"it goes", silent(time.Hour, func(_ *ops.State, p *observe.Pod) { p.Terminating = true }), "wait/joined"},
		{"its process began again", silent(time.Hour, func(s *ops.State,
			p *observe.Pod) {
			p.Started = s.Now.Add(-10 * time.Second)
		}), "wait/joined"},
		{"nobody knows when it began", silent(time.Hour, func(_ *ops.State, p *observe.Pod) { p.Started = time.Time{} }),
			"wait/joined"},
		{"it crashes", silent(time.Hour, func(s *ops.State, _ *observe.Pod) {
			opstest.Down(s, "db-4", observe.ProblemCrashing,
				time.Hour)
		}), "blocked NeedsHuman CrashLooping"},
		{"it has much to take in", silent(50*time.Second, func(s *ops.State,
			_ *observe.Pod) {
			s.View.Members[0].DataBytes = 2 << 30
		}), "wait/joined"},
		{"it has had the time for that, too", silent(4*time.Minute,
			func(s *ops.State, _ *observe.Pod) { s.View.Members[0].DataBytes = 2 << 30 }), "revive-member/db-4"},
		{"a process died before its restart", silent(50*time.Second,
			func(s *ops.State, _ *observe.Pod) { startedAgo(s, 2*time.Second) }), "revive-member/db-4"},
		{"one before that died, too", silent(5*time.Minute, func(s *ops.State,
			_ *observe.Pod) {
			startedAgo(s, 4*time.Minute)
		}), "revive-member/db-4"},
		{"it hangs again", silent(50*time.Second, func(s *ops.State, _ *observe.Pod) { startedAgo(s, 55*time.Second) }),
			"wait/joined"},
		{"another one was restarted", silent(50*time.Second, func(s *ops.State, _ *observe.Pod) {
			startedAgo(s, 55*time.Second)
			s.Operation.Status.Journal[1].Step = "revive-member/db-5"
		}), "revive-member/db-4"},
		{"a voter is never restarted for it", sized(v1alpha1.VerbScale, 3, func(s *ops.State) {
			opstest.Down(s, "db-3", "", 0)
			pod := &s.Kube.Members[2].Pod
			pod.Running, pod.Started, pod.Created = true, s.Now.Add(-time.Hour), s.Now.Add(-time.Hour)
		}), "wait/healthy"},
	})
}

// TestPlanRevive: what is planned is one restart, after which it joins.
func TestPlanRevive(t *testing.T) {
	t.Parallel()
	s := silent(time.Minute, func(s *ops.State, _ *observe.Pod) { s.Cluster.Spec.Members = 4 })()
	judge(t, opstest.Stub{}, s, []string{"revive-member/db-4", "wait/joined", "promote-member/db-4"}, "")
	if p := MakePlan(opstest.Stub{}, s); len(p.Restarts) != 1 || p.Restarts[0] != "db-4" {
		t.Errorf("it does not say what restarts: %v", p.Restarts)
	}
}
