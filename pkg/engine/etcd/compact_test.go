package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestCompactRevision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		view           engine.View
		revision, keep int64
		want           int64
		check, reason  string
	}{
		"the last twenty stay":       {view: world(3), keep: 20, want: 30},
		"only the present stays":     {view: world(3), want: 50},
		"up to a revision":           {view: world(3), revision: 12, want: 12},
		"the present itself":         {view: world(3), revision: 50, want: 50},
		"one to come":                {view: world(3), revision: 51, check: "revision", reason: "the cluster is at 50"},
		"less than is to stay":       {view: world(3), keep: 50},
		"nothing was ever written":   {view: world(1, applying(1, "c1/2/100/1"))},
		"the most advanced one says": {view: world(3, applying(2, "c1/2/100/60")), keep: 20, want: 40},
		"nobody answers":             {view: world(1, down(1)), keep: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := New().CompactRevision(c.view, c.revision, c.keep)
			expect(t, err, c.check, c.reason)
			if got != c.want {
				t.Errorf("before %d, want %d", got, c.want)
			}
		})
	}
	if said := New().CompactImpact(4711); !strings.Contains(said, "4711") {
		t.Errorf("it says %q", said)
	}
}

// TestCompactFreesSpaceOnEveryMember: and a repeat does no harm.
func TestCompactFreesSpaceOnEveryMember(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "compact", 3)
			f.form(series, f.names()...)
			value := strings.Repeat("x", 64<<10)
			for range 48 {
				if err := f.put(f.name(1), "key", value, ""); err != nil {
					t.Fatal(err)
				}
			}
			before, err := New().CompactRevision(f.healthy(f.names()...), 0, 1)
			if err != nil || before < 40 {
				t.Fatalf("before %d, %v", before, err)
			}
			for _, revision := range []int64{before, before, before - 10} {
				if err := f.session.Compact(t.Context(), f.names(), revision); err != nil {
					t.Fatal(err)
				}
			}
			for _, member := range f.names() {
				for revision, want := range map[int64]error{before - 1: rpctypes.ErrCompacted, before: nil} {
					err := f.client(member, func(ctx context.Context, c *clientv3.Client) error {
						_, err := c.Get(ctx, "key", clientv3.WithRev(revision), clientv3.WithSerializable())
						return err
					})
					if !errors.Is(err, want) {
						t.Errorf("%s at revision %d: %v, want %v", member, revision, err, want)
					}
				}
			}
			f.eventually("free space everywhere", func() error {
				if err := f.put(f.name(1), "later", "x", ""); err != nil {
					return err
				}
				for _, m := range f.healthy(f.names()...).Members {
					if m.UsedBytes > 1<<20 {
						return fmt.Errorf("%s uses %d of %d bytes", m.Name, m.UsedBytes, m.DataBytes)
					}
				}
				return nil
			})
			f.kill(f.name(3))
			if err := f.session.Compact(t.Context(), f.names(), before+1); !errors.Is(err, engine.ErrNotReady) {
				t.Errorf("a member is down: %v", err)
			}
		})
	}
}
