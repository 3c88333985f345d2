package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// TestSpaceIsMadeBeforeTheAlarmGoes on real members, each of which is full.
func TestSpaceIsMadeBeforeTheAlarmGoes(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "space", 1)
			f.cluster.Spec.Config = map[string]string{flags.QuotaOption: "2097152"}
			one := f.name(1)
			f.form(series, one)
			f.eventually("full", func() error {
				return f.put(one, "key", strings.Repeat("x", 300_000),
					"database space exceeded")
			})
			ctx := t.Context()
			if err := f.session.ProveWrite(ctx, f.names()); !errors.Is(err, engine.ErrRefused) {
				t.Errorf("a write is proved, and there is no space: %v", err)
			}
			v := f.session.Observe(ctx, f.names())
			before, err := New().CompactRevision(v, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			revision := before
			for _, step := range []func() error{
				func() error { return f.session.Compact(ctx, f.names(), before) },
				func() error { return f.session.Defragment(ctx, one) },
				func() error { return f.session.ClearAlarms(ctx, v.Alarms) },
				func() error { return f.session.ClearAlarms(ctx, v.Alarms) },
				func() error { return f.session.ProveWrite(ctx, f.names()) },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
			v = f.healthy(one)
			if after, _ := New().CompactRevision(v, 0, 0); after != revision || len(v.Alarms) > 0 {
				t.Errorf("revision %d before the proof, %d after; alarms %+v", revision, after, v.Alarms)
			}
			if err := f.put(one, "key", "small", ""); err != nil {
				t.Error(err)
			}
			if err := f.session.ClearAlarms(ctx, []engine.Alarm{{Name: "NEW", MemberID: v.Members[0].ID}}); err == nil {
				t.Error("an alarm that etcd does not have was taken back")
			}
		})
	}
}

// TestCompareCopiesFindsDamage of a member that runs: a bit flips below it.
func TestCompareCopiesFindsDamage(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "copies", 3)
			f.form(series, f.names()...)
			const value = "a value that is precious"
			if err := f.put(f.name(1), "key", value, ""); err != nil {
				t.Fatal(err)
			}
			copies := f.compare()
			if len(copies) != 3 || copies[0].Sum != copies[1].Sum || copies[0].Sum != copies[2].Sum {
				t.Fatalf("copies %+v", copies)
			}
			file := filepath.Join(f.members[f.name(3)].data, "member", "snap", "db")
			f.eventually("the value in the file", func() error { return flipAll(file, value) })
			if copies = f.compare(); copies[0].Sum != copies[1].Sum || copies[0].Sum == copies[2].Sum {
				t.Errorf("damage was not found: %+v", copies)
			}
			// Of nobody in particular, as etcd raises it where no majority agrees.
			alarm := []engine.Alarm{{Name: "CORRUPT", Cause: engine.CauseDamage}}
			if err := f.client(f.name(1), raise); err != nil {
				t.Fatal(err)
			}
			f.eventually("the alarm everywhere", func() error {
				if v := f.session.Observe(t.Context(), f.names()); !slices.Equal(v.Alarms, alarm) {
					return fmt.Errorf("alarms %+v", v.Alarms)
				}
				return nil
			})
			if err := f.session.ProveWrite(t.Context(), f.names()); !errors.Is(err, engine.ErrRefused) {
				t.Errorf("a write is proved under %+v: %v", alarm, err)
			}
			if err := f.session.ClearAlarms(t.Context(), alarm); err != nil {
				t.Fatal(err)
			}
			f.whenReady("a write everywhere", func() error { return f.session.ProveWrite(t.Context(), f.names()) })
		})
	}
}

func (f *fleet) compare() []engine.Copy {
	f.t.Helper()
	var copies []engine.Copy
	f.whenReady("members to compare", func() (err error) {
		copies, err = f.session.CompareCopies(f.t.Context(), f.names())
		return err
	})
	return copies
}

// flipAll changes every copy of a text in a file below the process that has it open.
func flipAll(file, text string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	found := 0
	for at := 0; ; found++ {
		i := bytes.Index(content[at:], []byte(text))
		if i < 0 {
			break
		}
		at += i + 1
		if _, err := f.WriteAt([]byte{'A'}, int64(at-1)); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Close(); err != nil || found > 0 {
		return err
	}
	return fmt.Errorf("%s does not hold %q", file, text)
}

// raise makes the request by which a member raises an alarm.
func raise(ctx context.Context, c *clientv3.Client) error {
	_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx,
		&pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_CORRUPT})
	return err
}
