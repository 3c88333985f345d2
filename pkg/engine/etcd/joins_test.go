package etcd

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestRecoveredDataMayHoldTwoLearners: etcd does not start on more of them than its limit.
func TestRecoveredDataMayHoldTwoLearners(t *testing.T) {
	t.Parallel()
	pod, err := New().RecoveryPod(engine.PodInput{Cluster: cluster(), Member: "db-1", Version: "3.6.16",
		Peers: []string{"db-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(pod.Container.Args, "--max-learners=2") {
		t.Errorf("it is not told a limit: %v", pod.Container.Args)
	}
}

// TestJoinsAtOnce: the least limit counts, and who was never started has none yet.
func TestJoinsAtOnce(t *testing.T) {
	t.Parallel()
	list := func(more ...engine.Registered) engine.View {
		v := engine.View{MemberList: []engine.Registered{{Name: "db-1", Voter: true, Started: true},
			{Name: "db-2", Voter: true, Started: true}}}
		v.MemberList = append(v.MemberList, more...)
		return v
	}
	for name, c := range map[string]struct {
		view engine.View
		told map[string]int
		want int
	}{
		"all have it":               {list(), map[string]int{"db-1": 2, "db-2": 2}, 2},
		"one lacks it":              {list(), map[string]int{"db-1": 2, "db-2": 1}, 1},
		"one is of 3.5":             {list(), map[string]int{"db-1": 2, "db-2": 0}, 1},
		"one has no pod":            {list(), map[string]int{"db-1": 2}, 1},
		"more than this tool gives": {list(), map[string]int{"db-1": 9, "db-2": 9}, 2},
		"one waits for its start":   {list(engine.Registered{Name: "db-3"}), map[string]int{"db-1": 2, "db-2": 2}, 2},
		"a learner lacks it": {list(engine.Registered{Name: "db-3", Started: true}),
			map[string]int{"db-1": 2, "db-2": 2, "db-3": 1}, 1},
		"a learner of somebody else": {list(engine.Registered{Name: "x", Started: true}),
			map[string]int{"db-1": 2, "db-2": 2}, 1},
	} {
		if got := New().JoinsAtOnce(c.view, c.told); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
