package executor

import (
	"errors"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestPerformAlarms(t *testing.T) {
	same := []engine.Copy{{Member: "db-1", Sum: "a"}, {Member: "db-2", Sum: "a"}}
	for name, c := range map[string]struct {
		step   ops.Step
		copies []engine.Copy
		call   string
		facts  map[string]string
		kind   ops.Kind
	}{
		"all have the same": {ops.Step{Action: ops.ActionCompare, Members: []string{"db-1", "db-2"}}, same,
			"compare db-1,db-2", map[string]string{v1alpha1.FactCompared: "a"}, ""},
		"they differ": {ops.Step{Action: ops.ActionCompare, Members: []string{"db-1", "db-2"}},
			[]engine.Copy{{Member: "db-1", Sum: "a"}, {Member: "db-2", Sum: "b"}},
			"compare db-1,db-2", nil, ops.NeedsHuman},
		"no others are taken back": {ops.Step{Action: ops.ActionClearAlarms, Alarm: "NOSPACE"}, nil,
			"disarm [{NOSPACE space 1 db-1}]", map[string]string{v1alpha1.FactCompared: ""}, ""},
		"a write is proved": {ops.Step{Action: ops.ActionProveWrite, Members: []string{"db-1"}}, nil,
			"prove a write at db-1", map[string]string{v1alpha1.FactWritten: "yes"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := plain(t)
			b.Op = opstest.Operation(v1alpha1.VerbClearAlarms)
			b.Database.Model.Copies = c.copies
			l := liveOf(b)
			s := observation(b, l)
			s.View.Alarms = []engine.Alarm{{Name: "CORRUPT", Cause: engine.CauseDamage, MemberID: "1", Member: "db-1"},
				{Name: "NOSPACE", Cause: engine.CauseSpace, MemberID: "1", Member: "db-1"}}
			r, err := l.Perform(t.Context(), s, c.step, nil)
			if (err != nil) != (c.kind != "") || err != nil && (ops.KindOf(err) != c.kind || ops.Transient(err)) {
				t.Fatalf("%v, want kind %q", err, c.kind)
			}
			if calls := b.Database.Last().Calls; !slices.Equal(calls, []string{c.call}) {
				t.Errorf("calls %v, want %q", calls, c.call)
			}
			if len(r.Facts) != len(c.facts) {
				t.Errorf("facts %v, want %v", r.Facts, c.facts)
			}
			for k, v := range c.facts {
				if got, ok := r.Facts[k]; !ok || got != v {
					t.Errorf("facts %v, want %v", r.Facts, c.facts)
				}
			}
			b.Database.Last().Err = engine.ErrNotReady
			if r, err := l.Perform(t.Context(), s, c.step, nil); !errors.Is(err, engine.ErrNotReady) || r.Facts != nil {
				t.Errorf("the database asks to wait: %v, %v", r.Facts, err)
			}
		})
	}
}
