package contracttest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// joins checks that members are told the limit that they are rendered with, and that the least of all counts.
func joins(t testing.TB, c Case) {
	limiter, tells := c.Engine.(engine.JoinLimiter)
	silent := map[string]int{}
	for _, m := range c.View.Members {
		silent[m.Name] = 0
	}
	if got := c.Engine.JoinsAtOnce(c.View, silent); got < 1 || tells && got > 1 {
		t.Errorf("members are told nothing, and %d may be joining", got)
	}
	if !tells {
		return
	}
	for _, in := range inputs(c) {
		want := limiter.InitialJoinLimit(in.Version)
		read := func(limit int) int {
			in.JoinLimit = limit
			return limiter.JoinLimit(in.Version, corev1.PodSpec{Containers: []corev1.Container{pod(t, c, in).Container}})
		}
		if got := read(want); got != want {
			t.Errorf("a member of %s is told %d, and its pod says %d", in.Version, want, got)
		}
		if got := read(0); got > 1 {
			t.Errorf("a member of %s is told nothing, and its pod says %d", in.Version, got)
		}
		told := map[string]int{}
		for _, m := range c.View.Members {
			told[m.Name] = want
		}
		if got := c.Engine.JoinsAtOnce(c.View, told); got != max(want, 1) {
			t.Errorf("all members are told %d, and %d may be joining", want, got)
		}
		for _, m := range c.View.Members {
			told[m.Name] = 0
			if got := c.Engine.JoinsAtOnce(c.View, told); got != 1 {
				t.Errorf("%s is told nothing, and %d may be joining", m.Name, got)
			}
			delete(told, m.Name)
			if got := c.Engine.JoinsAtOnce(c.View, told); got != 1 {
				t.Errorf("what %s is told is not known, and %d may be joining", m.Name, got)
			}
			told[m.Name] = want
		}
	}
}
