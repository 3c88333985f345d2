//go:build e2e

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// smallQuota is full after some fifty pieces.
	smallQuota = "quota-backend-bytes=16777216"
	// alarmWithin is when etcd must have found damage.
	alarmWithin = 90 * time.Second
)

// overwritten fills with history, distinct with data.
func overwritten(int) string { return "full" }

func distinct() func(int) string {
	written := 0
	return func(int) string {
		written++
		return fmt.Sprintf("full/%04d", written)
	}
}

func (s *scene) exhaust(key func(int) string) {
	s.Helper()
	n, err := harness.Exhaust(s.ctx, s.dial("my-db"), key)
	s.ok(err)
	s.Logf("full after %d pieces", n)
}

// TestQuotaUsedUp fills a small quota, with data that has to stay and with
// history that has not: the first takes a larger quota, the second is cleared
// while clients insist on their writes.
func TestQuotaUsedUp(t *testing.T) {
	s := newScene(t, "quota", "my-db")
	s.create("my-db", "3.5", "3", "--config", smallQuota)
	s.must("alarms", "list", "my-db")
	s.says(s.must("alarms", "clear", "my-db"), "unchanged")

	data := distinct()
	s.exhaust(data)
	r := s.try("alarms", "list", "my-db")
	if r.Code != 10 || !strings.Contains(r.Stdout, "NOSPACE") || !strings.Contains(r.Stderr, "alarms clear my-db") {
		t.Errorf("the list does not say so:\n%s", r)
	}
	for _, verb := range []string{"status", "diagnose"} {
		if r := s.try(verb, "my-db"); r.Code != 10 || !strings.Contains(r.Stdout+r.Stderr, " alarms clear my-db") {
			t.Errorf("%s does not say what to do:\n%s", verb, r)
		}
	}
	s.refused(4, []string{"NOSPACE"}, "upgrade", "my-db", "--version", "3.6")
	// What a full file leaves between its pages is given back a few times.
	for range 5 {
		if r = s.try("alarms", "clear", "my-db"); r.Code != 0 {
			break
		}
		s.exhaust(data)
	}
	s.judge(r, 4, "would come back", "configure my-db --set quota-backend-bytes=")
	s.must("configure", "my-db", "--set", "quota-backend-bytes=33554432")
	if steps := s.plan("alarms", "clear", "my-db"); strings.Join(steps, " ") != "clear-alarms/NOSPACE prove-write" {
		t.Errorf("there is room, and it does %v", steps)
	}
	s.must("alarms", "clear", "my-db")
	s.healthy("my-db", 3)

	db := s.dial("my-db")
	w := harness.StartWriter(s.ctx, db, "load/", killRate)
	defer w.Stop()
	began := time.Now()
	s.exhaust(overwritten)
	s.must("alarms", "clear", "my-db", "--keep-revisions", "0")
	s.Logf("longest write gap %s", w.LongestGap(began, time.Now()).Round(time.Millisecond))
	counts := s.nothingLost(db, w, "load/")
	s.Logf("%+v", counts)
	s.healthy("my-db", 3)
	s.says(s.must("alarms", "clear", "my-db"), "unchanged")
}

// TestDamageFoundWhileRunning flips a bit in the data of a member that runs.
// etcd finds it when it compacts; the one that differs is named and replaced,
// and the alarm is not taken back before all have the same data.
func TestDamageFoundWhileRunning(t *testing.T) {
	s := newScene(t, "damage", "my-db")
	s.create("my-db", "3.6", "3", "--config", "compact-hash-check-time=1s")
	machine, err := s.site.Machine()
	if err != nil {
		t.Skip(err)
	}
	db := s.dial("my-db")
	s.ok(harness.FillKeys(s.ctx, db, "kept/", 100, 64))
	target := s.follower("my-db")
	file, err := machine.DataFile(s.ctx, s.ns, target)
	s.ok(err)
	s.ok(harness.Until(s.ctx, podWithin, "the value to be in the file", func(context.Context) error {
		_, err := harness.FlipBit(file, "value 7 ")
		return err
	}))
	s.must("compact", "my-db", "--keep-revisions", "0")
	s.ok(harness.Until(s.ctx, alarmWithin, "etcd to find the damage", func(context.Context) error {
		if r := s.try("alarms", "list", "my-db"); r.Code != 10 || !strings.Contains(r.Stdout, "CORRUPT") {
			return errors.New(r.String())
		}
		return nil
	}))
	s.refused(4, []string{"the data of " + target + " differs", "member replace my-db " + target}, "alarms", "clear",
		"my-db")
	s.must("member", "replace", "my-db", target, "--force", "--yes")
	if r := s.try("alarms", "list", "my-db"); r.Code != 10 || !strings.Contains(r.Stderr, "no member any more") {
		t.Errorf("the alarm went with the member:\n%s", r)
	}
	if steps := s.plan("alarms", "clear", "my-db"); strings.Join(steps,
		" ") != "compare-members clear-alarms/CORRUPT prove-write" {
		t.Errorf("it does %v", steps)
	}
	s.must("alarms", "clear", "my-db")
	s.healthy("my-db", 3)
	s.ok(harness.FillKeys(s.ctx, db, "after/", 100, 64))
}
