package protocol

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// founded returns a document of three members, of which m1 made the database.
func founded(t *testing.T, durability Durability) *Document {
	t.Helper()
	d := &Document{}
	settings := Settings{Timing: DefaultTiming(), Durability: durability, Acknowledge: 1, MaxLag: 100}
	agree(t, d,
		&Configured{Voters: []MemberID{"m1", "m2", "m3"}},
		&Found{Token: "token", InitialMembers: []InitialMember{{ID: "m1"}, {ID: "m2"}, {ID: "m3"}}, Settings: settings},
		&Joined{Member: "m1", Start: 1, Level: 1}, &Joined{Member: "m2", Start: 1, Level: 1},
		&Joined{Member: "m3", Start: 1, Level: 1},
		&GrantInit{Member: "m1", Number: 1}, &Initialised{Member: "m1", Number: 1, System: "system", Volume: "v1"},
		&Cloned{Member: "m2", Volume: "v2"}, &Cloned{Member: "m3", Volume: "v3"},
		&Seal{Generation: 1}, &Reported{Member: "m1", Generation: 1, Report: Report{Volume: "v1"}},
	)
	return d
}

// serving returns a document whose primary m1 serves generation 1.
func serving(t *testing.T, durability Durability) *Document {
	t.Helper()
	d := founded(t, durability)
	agree(t, d, &Appoint{Member: "m1", Generation: 1, Timeline: 1, Set: FirstSet(d, "m1")},
		&Renew{Member: "m1", Generation: 1, Process: 1, Attempt: 1, Lease: 7 * time.Second,
			Position: Position{Timeline: 1, Offset: 1000}})
	return d
}

// agree applies entries that must have an effect, and again, when they must have none.
func agree(t *testing.T, d *Document, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		if err := d.Apply(d.Index+1, e); err != nil {
			t.Fatalf("%s %+v: %v", e.Kind(), e, err)
		}
		before, _ := json.Marshal(d)
		if err := d.Apply(d.Index, e); err == nil && e.Kind() != "planSwitchover" {
			t.Fatalf("%s is applied twice", e.Kind())
		}
		if after, _ := json.Marshal(d); e.Kind() != "planSwitchover" && string(after) != string(before) {
			t.Fatalf("%s changes the document the second time:\n%s", e.Kind(), cmp.Diff(string(before), string(after)))
		}
	}
}

// refused applies entries that must have no effect.
func refused(t *testing.T, d *Document, why string, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		before, _ := json.Marshal(d)
		if err := d.Apply(d.Index, e); err == nil {
			t.Errorf("%s: %s %+v is accepted", why, e.Kind(), e)
		}
		if after, _ := json.Marshal(d); string(after) != string(before) {
			t.Errorf("%s: %s changes the document", why, e.Kind())
		}
	}
}

func TestFounding(t *testing.T) {
	t.Parallel()
	settings := Settings{Timing: DefaultTiming(), Durability: Strict, Acknowledge: 1}
	d := &Document{}
	refused(t, d, "before founding", &Joined{Member: "m1", Start: 1}, &Seal{Generation: 1})
	broken := settings
	broken.Timing.Stop = time.Millisecond
	refused(t, d, "with times that allow two primaries", &Found{Token: "token", Settings: broken})
	agree(t, d, &Found{Token: "token", InitialMembers: []InitialMember{{ID: "m1"}, {ID: "m2"}}, Settings: settings})
	refused(t, d, "founded once", &Found{Token: "other", Settings: settings})
	agree(t, d, &Joined{Member: "m1", Start: 3, Level: 1})
	refused(t, d, "before all joined: an absent member may hold a database", &GrantInit{Member: "m1", Number: 1})
	refused(t, d, "before there is a database", &Seal{Generation: 1}, &Cloned{Member: "m1", Volume: "v"})
	agree(t, d, &Joined{Member: "m2", Start: 1, Level: 1}, &GrantInit{Member: "m1", Number: 1})
	refused(t, d, "not granted", &Initialised{Member: "m2", Number: 1, System: "other", Volume: "v"},
		&GrantInit{Member: "m2", Number: 2})
	agree(t, d, &RevokeInit{Number: 1}, &GrantInit{Member: "m2", Number: 2})
	refused(t, d, "revoked", &Initialised{Member: "m1", Number: 1, System: "system", Volume: "v"})
	agree(t, d, &Initialised{Member: "m2", Number: 2, System: "system", Volume: "v2"})
	refused(t, d, "there is a database", &GrantInit{Member: "m1", Number: 3}, &RevokeInit{Number: 2})
}

func TestLeaseEntries(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	renewal := Renew{Member: "m1", Generation: 1, Process: 1, Attempt: 2, Lease: 7 * time.Second}
	other, old, later := renewal, renewal, renewal
	other.Member, old.Process, later.Generation = "m2", 2, 2
	refused(t, d, "not the lease that is in force", &other, &old, &later)
	refused(t, d, "a renewal was agreed after the leader looked", &Seal{Generation: 2, LeaseNumber: d.LeaseNumber - 1})
	refused(t, d, "no generation is skipped", &Seal{Generation: 3, LeaseNumber: d.LeaseNumber})
	refused(t, d, "the former start of the agent", &Release{Member: "m1", Generation: 1, Process: 0})
	agree(t, d, &renewal, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber + 1})
	renewal.Attempt++
	refused(t, d, "sealed", &renewal, &Release{Member: "m1", Generation: 1, Process: 1},
		&ChangeSet{Generation: 1, Set: SyncSet{Version: 9}})
	refused(t, d, "nobody reported", &Appoint{Member: "m2", Generation: 2, Timeline: 2, Set: FirstSet(d, "m2")})
	refused(t, d, "another copy", &Reported{Member: "m2", Generation: 2, Report: Report{Volume: "v9"}})
	agree(t, d, &Reported{Member: "m2", Generation: 2, Report: Report{Volume: "v2",
		Position: Position{Timeline: 1, Offset: 990}}})
	refused(t, d, "the timeline was used", &Appoint{Member: "m2", Generation: 2, Timeline: 1, Set: FirstSet(d, "m2")})
	agree(t, d, &Appoint{Member: "m2", Generation: 2, Timeline: 2, Set: FirstSet(d, "m2")})
	sets := len(d.InForce)
	agree(t, d, &Seal{Generation: 3, LeaseNumber: d.LeaseNumber})
	if len(d.InForce) != sets-1 {
		t.Error("the set of a primary that never renewed stays in force")
	}
	agree(t, d, &EndIncarnation{Successor: "next"})
	refused(t, d, "the incarnation has ended", &Joined{Member: "m1", Start: 9, Level: 1})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	d := serving(t, Strict)
	refused(t, d, "known", &AddMember{Member: "m1"})
	agree(t, d, &AddMember{Member: "m4"})
	refused(t, d, "not heard of", &OfferVote{Member: "m4"})
	agree(t, d, &Joined{Member: "m4", Start: 1, Level: 1}, &OfferVote{Member: "m4"}, &Leave{Member: "m3"})
	refused(t, d, "votes and acknowledges", &RemoveMember{Member: "m3"})
	agree(t, d, &Configured{Voters: []MemberID{"m1", "m2", "m4"}})
	refused(t, d, "acknowledges", &RemoveMember{Member: "m3"})
	set := SyncSet{Version: d.Sets + 1, Primary: Standby{"m1", "v1"}, Standbys: []Standby{{"m2", "v2"}}, Need: 1}
	agree(t, d, &ChangeSet{Generation: 1, Set: set})
	refused(t, d, "the former set is in force", &RemoveMember{Member: "m3"})
	agree(t, d, &SettleSet{Generation: 1, Version: set.Version}, &RemoveMember{Member: "m3"})
	refused(t, d, "an ID is never used twice", &AddMember{Member: "m3"})
	agree(t, d, &Leave{Member: "m1"})
	refused(t, d, "the primary", &RemoveMember{Member: "m1"})
}

func TestSettings(t *testing.T) {
	t.Parallel()
	d := serving(t, Preferred)
	next := d.Settings
	next.Version, next.MaxLag = 1, 7
	skipped, broken := next, next
	skipped.Version, broken.Timing.Lease = 2, time.Second
	refused(t, d, "not the next version, or dangerous", &Configure{Settings: skipped}, &Configure{Settings: broken})
	agree(t, d, &Configure{Settings: next}, &StartHold{ID: "h", Hold: Hold{By: "me"}})
	refused(t, d, "held", &PlanSwitchover{Generation: 1, Intent: Intent{Target: "m2"}})
	agree(t, d, &EndHold{ID: "h"}, &PlanSwitchover{Generation: 1, Intent: Intent{Target: "m2"}})
	refused(t, d, "no such target", &PlanSwitchover{Generation: 1, Intent: Intent{Target: "m9"}},
		&PlanSwitchover{Generation: 1, Intent: Intent{Target: "m1"}})
}

func TestRecovered(t *testing.T) {
	t.Parallel()
	d := serving(t, Strict)
	agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber})
	r := d.Recovered("next", "m2")
	if r.Phase != Serving || r.Primary != "" || r.Token != "next" {
		t.Errorf("a recovered group must wait for a whole lease, whatever the survivor knew: %+v", r)
	}
	refused(t, &r, "a primary of the old incarnation", &Renew{Member: "m1", Generation: 2, Process: 1, Attempt: 9},
		&Release{Member: "m2", Generation: 2, Process: 9}, &AddMember{Member: "m1"})
	if len(d.Members) != 3 || len(d.Removed) != 0 {
		t.Error("the old document changed")
	}
}

func TestEncoding(t *testing.T) {
	t.Parallel()
	for e, level := range entries() {
		read, err := Decode(Encode(e))
		if err != nil || !cmp.Equal(read, e) || level < 1 || level > highestLevel || LevelOf(e.Kind()) != level {
			t.Errorf("%s at level %d: %+v, %v", e.Kind(), level, read, err)
		}
	}
	if _, err := Decode([]byte(`{"kind":"fromTheFuture","data":{}}`)); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("an unknown kind: %v", err)
	}
	d := serving(t, Strict)
	raw, err := d.MarshalSnapshot()
	var read Document
	if err == nil {
		err = read.UnmarshalSnapshot(raw)
	}
	if diff := cmp.Diff(*d, read); err != nil || diff != "" {
		t.Errorf("a snapshot differs: %v %s", err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	for e := range entries() {
		f.Add(Encode(e))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Decode(raw)
		if err != nil {
			return
		}
		d := serving(t, Strict)
		_ = d.Apply(d.Index+1, e)
		if again, err := Decode(Encode(e)); err != nil || again.Kind() != e.Kind() {
			t.Errorf("%s does not survive: %v", raw, err)
		}
	})
}
