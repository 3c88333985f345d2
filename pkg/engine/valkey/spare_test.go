package valkey

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestSpareLog: the second history counts from 0 again, at 200 of the first. The third one goes on from there.
func TestSpareLog(t *testing.T) {
	t.Parallel()
	root, next, last := fork(1, first, 0, "", 0), fork(2, second, 200, first, 200), fork(3, third, 0, second, 400)
	files := []engine.LogFile{file(first, 0, 100, 1), file(first, 100, 200, 2), file(first, 200, 300, 3),
		file(second, 0, 100, 4), file(second, 100, 200, 5), file(third, 400, 500, 6)}
	at := func(history string, end uint64) string { return logfile.Name{History: history, End: end}.String() }
	for name, c := range map[string]struct {
		starts []string
		forks  []engine.LogFile
		want   []int
	}{
		"of the first":                  {starts: []string{at(first, 50)}},
		"of the first, at a file's end": {starts: []string{at(first, 100)}, want: []int{0}},
		"at the fork":                   {starts: []string{at(first, 200)}, want: []int{0, 1}},
		"of what was given up":          {starts: []string{at(first, 250)}, want: []int{0, 1, 3, 4}},
		"of the second":                 {starts: []string{at(second, 100)}, want: []int{0, 1, 2, 3}},
		"of the newest":                 {starts: []string{at(third, 450)}, want: []int{0, 1, 2, 3, 4}},
		"of two":                        {starts: []string{at(third, 450), at(second, 150)}, want: []int{0, 1, 2, 3}},
		"nothing":                       {},
		"a name that is none":           {starts: []string{at(third, 450), "base"}},
		"of a history that is not told": {starts: []string{at(third, 450)}, forks: []engine.LogFile{root, next}},
		"one that is not told": {
			starts: []string{at(third, 450)}, forks: []engine.LogFile{root, last}, want: []int{0, 1, 2},
		},
		"nobody knows where it goes on": {
			starts: []string{at(first, 250)},
			forks:  []engine.LogFile{root, fork(2, second, 200, "", 200), last}, want: []int{0, 1},
		},
		"two that differ": {
			starts: []string{at(third, 450)},
			forks:  []engine.LogFile{root, next, fork(2, second, 300, first, 300), last}, want: []int{0, 1, 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := c.forks
			if told == nil {
				told = []engine.LogFile{root, next, last}
			}
			var starts []engine.LogStart
			for _, s := range c.starts {
				starts = append(starts, engine.LogStart{File: s})
			}
			var want []engine.LogFile
			for _, i := range c.want {
				want = append(want, files[i])
			}
			got := (&Engine{}).SpareLog(starts, append(slices.Clip(told), files...))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
