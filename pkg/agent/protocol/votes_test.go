package protocol

import (
	"testing"
	"time"
)

func TestTargetVoters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, witnesses, want int }{
		{1, 0, 1}, {1, 1, 1}, {2, 0, 1}, {2, 1, 3}, {3, 0, 3}, {3, 1, 3}, {4, 0, 3}, {4, 1, 5}, {5, 0, 5}, {6, 1, 5},
		{9, 0, 5},
	} {
		if got := TargetVoters(c.data, c.witnesses); got != c.want {
			t.Errorf("%d members and %d witnesses: %d voters, want %d", c.data, c.witnesses, got, c.want)
		}
	}
}

func TestNextVote(t *testing.T) {
	t.Parallel()
	const late = 6 * time.Minute
	for _, c := range []struct {
		name    string
		members string // p: primary, d: data, w: witness, l: leaving, n: not joined
		voters  []MemberID
		gone    map[MemberID]time.Duration
		want    VoteChange
	}{
		{"at rest", "pdd", []MemberID{"a", "b", "c"}, nil, VoteChange{}},
		{"one spare gets no vote", "pd", []MemberID{"a"}, nil, VoteChange{}},
		{"two spares get both votes", "pdd", []MemberID{"a"}, nil, VoteChange{Give: "b"}},
		{"the second of two", "pdd", []MemberID{"a", "b"}, nil, VoteChange{Give: "c"}},
		{"one of two has not joined", "pdn", []MemberID{"a"}, nil, VoteChange{}},
		{"the second of two is not there: the first gives its vote back", "pdn", []MemberID{"a", "b"}, nil,
			VoteChange{Take: "b"}},
		{"a pair and a witness", "pdw", []MemberID{"a"}, nil, VoteChange{Give: "b"}},
		{"a witness votes in a pair", "pdw", []MemberID{"a", "b"}, nil, VoteChange{Give: "c"}},
		{"a third member takes the vote of a witness", "pdwd", []MemberID{"a", "b", "c"}, nil, VoteChange{Give: "d"}},
		{"the witness loses it then", "pdwd", []MemberID{"a", "b", "c", "d"}, nil, VoteChange{Take: "c"}},
		{"a voter gone for a minute keeps its vote", "pddd", []MemberID{"a", "b", "c"},
			map[MemberID]time.Duration{"b": time.Minute}, VoteChange{}},
		{"a spare takes it after five", "pddd", []MemberID{"a", "b", "c"}, map[MemberID]time.Duration{"b": late},
			VoteChange{Give: "d"}},
		{"who is gone loses it", "pddd", []MemberID{"a", "b", "c", "d"}, map[MemberID]time.Duration{"b": late},
			VoteChange{Take: "b"}},
		{"without a spare three stay three", "pdd", []MemberID{"a", "b", "c"},
			map[MemberID]time.Duration{"b": late, "c": late}, VoteChange{}},
		{"five without two become three", "pdddd", []MemberID{"a", "b", "c", "d", "e"},
			map[MemberID]time.Duration{"b": late, "d": late}, VoteChange{Take: "d"}},
		{"five without one stay five", "pdddd", []MemberID{"a", "b", "c", "d", "e"}, map[MemberID]time.Duration{"b": late},
			VoteChange{}},
		{"who leaves loses its vote", "pdl", []MemberID{"a", "b", "c"}, nil, VoteChange{Take: "c"}},
		{"and then the primary votes alone", "pdl", []MemberID{"a", "b"}, nil, VoteChange{Take: "b"}},
	} {
		d := &Document{Members: map[MemberID]Member{}, Voters: c.voters, Primary: "a", Phase: Serving}
		for i, kind := range c.members {
			d.Members[MemberID(rune('a'+i))] = Member{
				Witness: kind == 'w', Leaving: kind == 'l', Start: map[bool]uint64{true: 0, false: 1}[kind == 'n'],
			}
		}
		if got := NextVote(d, c.gone); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
