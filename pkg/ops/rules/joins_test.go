package rules

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// limiter tells the members of a new cluster that two may join, and lets as many join as the first member was told.
type limiter struct{ opstest.Engine }

func (limiter) InitialJoinLimit(string) int { return 2 }

func (limiter) JoinLimit(string, corev1.PodSpec) int { return 1 }

func (limiter) JoinsAtOnce(_ engine.View, told map[string]int) int { return told["db-1"] }

// TestJoinLimit: it is observed, and only where nothing runs it is that of new clusters.
func TestJoinLimit(t *testing.T) {
	t.Parallel()
	orphan := func(m *observe.Member) { m.Workload.Exists = false }
	none := func(m *observe.Member) { *m = observe.Member{Name: m.Name} }
	for name, c := range map[string]struct {
		own, other int
		change     func(*observe.Member)
		want       int
	}{
		"as it is":                           {own: 2, other: 2, want: 2},
		"as it is, whatever the others have": {own: 2, other: 1, want: 2},
		"never more than it has":             {own: 1, other: 2, want: 1},
		"back from a version without":        {own: 0, other: 2, want: 2},
		"all of a version without":           {own: 0, other: 0, want: 0},
		"a new one":                          {other: 2, change: none, want: 2},
		"a new one of an old cluster":        {other: 1, change: none, want: 1},
		"only its pod is left":               {own: 2, other: 1, change: orphan, want: 2},
	} {
		s := opstest.Well(2)
		for i, n := range []int{c.own, c.other} {
			s.Kube.Members[i].Workload.JoinLimit, s.Kube.Members[i].Pod.JoinLimit = n, n
		}
		if c.change != nil {
			c.change(&s.Kube.Members[0])
		}
		if got := ops.JoinLimit(limiter{}, s, "db-1"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	s := opstest.Well(3)
	s.Kube.Members[1].Workload.JoinLimit, s.Kube.Members[2].Workload.JoinLimit = 1, 2
	if none(&s.Kube.Members[0]); ops.JoinLimit(limiter{}, s, "db-1") != 2 {
		t.Error("a new one is told less than another one, whose log it may not be able to take in")
	}
	s = opstest.Well(2)
	for i := range s.Kube.Members {
		s.Kube.Members[i].Workload, s.Kube.Members[i].Pod = observe.Workload{}, observe.Pod{}
	}
	if got := ops.JoinLimit(limiter{}, s, "db-1"); got != 2 {
		t.Errorf("nothing runs: %d, want that of new clusters", got)
	}
}

// TestJoinsAtOnce: template and pod both count, and what another incarnation was told does not.
func TestJoinsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*observe.Member)
		want   int
	}{
		"both":                      {func(*observe.Member) {}, 3},
		"its template says less":    {func(m *observe.Member) { m.Workload.JoinLimit = 2 }, 2},
		"its pod says less":         {func(m *observe.Member) { m.Pod.JoinLimit = 1 }, 1},
		"it has no pod":             {func(m *observe.Member) { m.Pod = observe.Pod{} }, 3},
		"of an earlier incarnation": {func(m *observe.Member) { m.Workload.Token, m.Volume.Token = "x", "x" }, 0},
	} {
		s := opstest.Well(2)
		m := &s.Kube.Members[0]
		m.Workload.JoinLimit, m.Pod.JoinLimit = 3, 3
		c.change(m)
		if got := ops.JoinsAtOnce(limiter{}, s); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
