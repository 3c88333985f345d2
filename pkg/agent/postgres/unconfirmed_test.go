//go:build linux

package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestUnconfirmed: a cancelled wait for replicas acknowledges a commit, and is counted.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	warned := func() string {
		t.Helper()
		got, err := m1.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got.Warnings, "\n")
	}
	if got := warned(); strings.Contains(got, "acknowledged") {
		t.Errorf("before it warns of %q", got)
	}
	set := protocol.SyncSet{Version: 2, Standbys: []protocol.Standby{m2.standby()}, Need: 1}
	m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set})
	if err := m2.StopNow(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := m1.Once(ctx, "INSERT INTO public.rows VALUES (1)")
		done <- err
	}()
	for waits := true; waits; time.Sleep(50 * time.Millisecond) {
		m1.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("it is not acknowledged: %v", err)
			}
			waits = false
		default:
		}
	}
	const want = "1 commit was acknowledged since"
	got := warned()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(got, want); got = warned() {
		if time.Now().After(deadline) {
			t.Fatalf("it warns of %q, want %q", got, want)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestUnconfirmedEnds: what was long ago is not told, and a session that ended got no acknowledgement.
func TestUnconfirmedEnds(t *testing.T) {
	t.Parallel()
	var u unconfirmed
	told := func(now time.Time) string {
		var m api.Measures
		u.tell(&m, now)
		return strings.Join(m.Warnings, "\n")
	}
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	u.note("12:00 WARNING:  canceling the wait for synchronous replication and terminating connection due to "+
		"administrator command", at)
	for _, of := range []string{"ERROR:  ", "LOG:  WARNING:  ", "\tWARNING:  "} { // what a client sends
		u.note(of+cancelled, at)
	}
	if got := told(at); got != "" {
		t.Errorf("of a session that ended: %q", got)
	}
	for range 2 {
		u.note("12:00 [7] WARNING:  "+cancelled, at)
	}
	if got := told(at.Add(time.Hour)); !strings.HasPrefix(got, "2 commits were acknowledged since 2026-11-28T12:00:00Z") {
		t.Errorf("it warns of %q", got)
	}
	if got := told(at.Add(25 * time.Hour)); got != "" {
		t.Errorf("after a day it warns of %q", got)
	}
	u.note("[7] WARNING:  01000: "+cancelled, at.Add(48*time.Hour))
	const again = "1 commit was acknowledged since 2026-11-30T12:00:00Z"
	if got := told(at.Add(48 * time.Hour)); !strings.HasPrefix(got, again) {
		t.Errorf("of a new one it warns of %q", got)
	}
}

// TestLowered: who waits for less than the cluster promises is told, with what takes it back.
func TestLowered(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m.Serving = 1
	m.Must(protocol.Job{Kind: protocol.Promote, Generation: 1, Timeline: 2, Set: protocol.SyncSet{Version: 1},
		Settings: protocol.Settings{Version: 1, Durability: protocol.Strict}})
	m.sql(`CREATE ROLE "my app"; ALTER ROLE "my app" SET synchronous_commit = local`)
	m.sql("CREATE ROLE sound; ALTER ROLE sound SET synchronous_commit = remote_apply; " +
		"ALTER ROLE sound IN DATABASE postgres SET synchronous_commit = remote_write")
	m.sql("ALTER DATABASE postgres SET synchronous_commit = off")
	got, err := m.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(got.Warnings, "\n")
	for _, want := range []string{
		`writes of the role "my app" are acknowledged with synchronous_commit = local, and may be lost although durability ` +
			`is strict; ALTER ROLE "my app" RESET synchronous_commit takes that back`,
		`ALTER ROLE "sound" IN DATABASE "postgres" RESET synchronous_commit takes that back`,
		`writes in the database "postgres" are acknowledged with synchronous_commit = off`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
	if n := strings.Count(all, "synchronous_commit ="); n != 3 {
		t.Errorf("%d warnings:\n%s", n, all)
	}
	var async api.Measures
	tellLowered(&async, protocol.Async, [][]string{{"some", "app", "", "local"}, {"all", "", "", "off"}})
	if len(async.Warnings) != 1 || !strings.Contains(async.Warnings[0], "configure --set synchronous_commit=on") {
		t.Errorf("with async it warns of %q", async.Warnings)
	}
}
