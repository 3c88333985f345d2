package postgres

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestSpareLog: timeline 1 forks at 4 to 2, which was given up, and at 6 to 3, which 4 goes on from at 8.
func TestSpareLog(t *testing.T) {
	t.Parallel()
	var all []engine.LogFile
	stretch := func(timeline, from, to uint64) (names []string) {
		for n := from; n <= to; n++ {
			f := archived(timeline, n, 0)
			all, names = append(all, f), append(names, f.Name)
		}
		return names
	}
	one, two, three, four := stretch(1, 2, 6), stretch(2, 4, 7), stretch(3, 6, 8), stretch(4, 8, 9)
	second, third, fourth := history(2, 1, "0/4000028"), history(3, 1, "0/6000028"), history(4, 3, "0/8000028")
	for name, c := range map[string]struct {
		starts    []string
		histories []engine.LogFile
		want      [][]string
	}{
		"of the first":          {starts: []string{one[0]}},
		"of the first, later":   {starts: []string{one[1]}, want: [][]string{one[:1]}},
		"behind the first fork": {starts: []string{one[3]}, want: [][]string{one[:3], two}},
		"in the file of a fork": {starts: []string{one[4]}, want: [][]string{one[:4], two}},
		"of one that was left":  {starts: []string{two[1]}, want: [][]string{one, two[:1], three}},
		"of the third":          {starts: []string{three[1]}, want: [][]string{one, two, three[:1]}},
		"of the newest":         {starts: []string{four[1]}, want: [][]string{one, two, three}},
		"of the newest and one": {starts: []string{four[1], three[2]}, want: [][]string{one, two, three[:2]}},
		"of two":                {starts: []string{two[2], three[0]}, want: [][]string{one, two[:2]}},
		"nothing":               {},
		"a name that is none":   {starts: []string{four[1], "base"}},
		"one that is not in it": {starts: []string{logName(5, 12)}, want: [][]string{one, two, three, four}},
		"no history of 2": {
			starts: []string{four[1]}, histories: []engine.LogFile{third, fourth},
			want: [][]string{one, three},
		},
		"no history of 3": {
			starts: []string{one[3]}, histories: []engine.LogFile{second, fourth},
			want: [][]string{one[:3], two},
		},
		"no history of 3, later": {
			starts: []string{four[1]}, histories: []engine.LogFile{second, fourth},
			want: [][]string{one, two},
		},
		"no history": {starts: []string{one[3]}, histories: []engine.LogFile{}, want: [][]string{one[:3]}},
		"a history that can't be read": {
			starts:    []string{four[1]},
			histories: []engine.LogFile{history(2, 1, "somewhere"), third, fourth}, want: [][]string{one, three},
		},
		"a history of the future": {
			starts:    []string{one[3]},
			histories: []engine.LogFile{history(2, 3, "0/4000028"), third, fourth}, want: [][]string{one[:3]},
		},
		"two histories of 2 that differ": {
			starts:    []string{one[3]},
			histories: []engine.LogFile{second, history(2, 1, "0/4000030"), third, fourth}, want: [][]string{one[:3]},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := c.histories
			if told == nil {
				told = []engine.LogFile{second, third, fourth}
			}
			var starts []engine.LogStart
			for _, s := range c.starts {
				starts = append(starts, engine.LogStart{File: s})
			}
			var got, want []string
			for _, f := range (&Engine{}).SpareLog(starts, append(slices.Clip(told), all...)) {
				got = append(got, f.Name)
			}
			for _, names := range c.want {
				want = append(want, names...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
