package pod

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestLearnerFlag: a member is told the limit that it is rendered with, where its version knows the flag.
func TestLearnerFlag(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		limit   int
		want    bool
	}{
		"3.5 has it compiled in":     {"3.5.35", 2, false},
		"3.6":                        {"3.6.16", 2, true},
		"3.7":                        {"3.7.3", 2, true},
		"a member of an old cluster": {"3.6.16", 0, false},
		"one, which is etcd's own":   {"3.6.16", 1, false},
	} {
		pod, err := Render(engine.PodInput{Cluster: cluster(), Member: "db-1", Version: c.version,
			Peers: []string{"db-1"}, JoinLimit: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(pod.Container.Args, "--max-learners=2"); got != c.want {
			t.Errorf("%s: told %t, want %t: %v", name, got, c.want, pod.Container.Args)
		}
	}
}
