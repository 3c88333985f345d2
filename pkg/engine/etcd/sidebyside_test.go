package etcd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestTwoLearners: two members join a real seed side by side, with the list that has both; 3.5 refuses the second,
// and runs the members afterwards.
func TestTwoLearners(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "two", 3)
			f.form(series, f.name(1))
			f.healthy(f.name(1))
			joining := []string{f.name(2), f.name(3)}
			f.whenReady("register the first", func() error { return f.session.Register(t.Context(), joining[0]) })
			if New().InitialJoinLimit(versionOf(t, series)) < 2 {
				f.eventually("the second refused", func() error {
					if err := f.session.Register(t.Context(), joining[1]); !errors.Is(err, engine.ErrRefused) {
						return fmt.Errorf("register a second learner: %w", err)
					}
					return nil
				})
				return
			}
			f.whenReady("register the second", func() error { return f.session.Register(t.Context(), joining[1]) })
			for _, name := range joining {
				f.start(series, name, false, f.names()...)
			}
			for _, name := range joining {
				f.whenReady("promote "+name, func() error { return f.session.Promote(t.Context(), name) })
			}
			if v := f.healthy(f.names()...); len(v.Voters()) != 3 {
				t.Errorf("voters %v", v.Voters())
			}
			if series == series36 {
				f.downgrade(series36, series35) // whose limit is lower than what the log says of the past
			}
		})
	}
}
