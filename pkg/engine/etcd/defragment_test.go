package etcd

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestDefragmentGivesSpaceBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "defrag", 1)
	member := f.name(1)
	f.form(series36, member)
	value := strings.Repeat("x", 64<<10)
	for n := range 64 {
		if err := f.put(member, fmt.Sprintf("key-%d", n), value, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.client(member, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Delete(ctx, "key-", clientv3.WithPrefix())
		if err != nil {
			return err
		}
		_, err = c.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	before := f.healthy(member).Member(member)
	// Freed pages count once a later batch is written.
	f.eventually("space to give back", func() error {
		if err := f.put(member, "later", "x", ""); err != nil {
			return err
		}
		if before = f.healthy(member).Member(member); before.DataBytes-before.UsedBytes < 2<<20 {
			return fmt.Errorf("of %d bytes %d are in use", before.DataBytes, before.UsedBytes)
		}
		return nil
	})
	d, ok := engine.Session(f.session).(engine.Defragmenter)
	if !ok {
		t.Fatal("the session does not defragment")
	}
	for range 2 {
		if err := d.Defragment(t.Context(), member); err != nil {
			t.Fatal(err)
		}
	}
	if after := f.healthy(member).Member(member); after.DataBytes >= before.DataBytes/2 {
		t.Errorf("%d bytes before, %d after", before.DataBytes, after.DataBytes)
	}
	if _, ok := engine.ReadOnly(f.session).(engine.Defragmenter); ok {
		t.Error("a dry run could defragment")
	}
}
func TestRewriteRoom(t *testing.T) {
	for name, c := range map[string]struct {
		member engine.Member
		want   int64
	}{
		"pages in use are filled to nine tenths": {engine.Member{DataBytes: 2 << 30, UsedBytes: 900 << 20},
			1000<<20 + 128<<20},
		"all counts where it is not known": {engine.Member{DataBytes: 9 << 20}, 10<<20 + 128<<20},
	} {
		if got := (&Engine{}).RewriteRoom(c.member); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
