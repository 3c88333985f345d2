package protocol

import (
	"slices"
	"time"
)

// mostVoters is the highest number of voters.
const mostVoters = 5

// voteTimeout is how long a voter may be gone before a spare takes its vote.
const voteTimeout = 5 * time.Minute

// VoteChange is one change of the group's configuration. The zero value is none.
type VoteChange struct {
	Give, Take MemberID
}

// TargetVoters returns how many voters a group shall have: the largest odd number that its members and its witness
// allow, at most five.
func TargetVoters(data, witnesses int) int {
	n := data
	if data > 1 && data%2 == 0 && witnesses > 0 {
		n++
	}
	return min(n-(n+1)%2, mostVoters)
}

// NextVote returns the next change of the votes. At rest their number is odd. Two votes are given together, one right
// after the other, and a vote of somebody who leaves or is gone is taken where a spare or the number allows it.
func NextVote(d *Document, gone map[MemberID]time.Duration) VoteChange {
	var data, witnesses int
	var spares []MemberID
	for _, id := range slices.Concat(d.Data(), d.witnesses()) {
		m := d.Members[id]
		if m.Leaving {
			continue
		}
		if m.Witness {
			witnesses++
		} else {
			data++
		}
		if m.Start > 0 && gone[id] == 0 && !slices.Contains(d.Voters, id) {
			spares = append(spares, id)
		}
	}
	target, voters := TargetVoters(data, witnesses), len(d.Voters)
	if target == data { // a witness votes only where the members alone would be an even number
		spares = slices.DeleteFunc(spares, func(id MemberID) bool { return d.Members[id].Witness })
	}
	loser := firstToLose(d, gone, target == data)
	lost := loser != "" && (d.Members[loser].Leaving || d.Members[loser].Witness && target == data ||
		gone[loser] >= voteTimeout)
	switch {
	case voters%2 == 0 && voters < target && len(spares) > 0:
		return VoteChange{Give: spares[0]}
	case voters%2 == 0 || voters > target:
		return VoteChange{Take: loser}
	case voters+2 <= target && len(spares) >= 2, lost && len(spares) > 0:
		return VoteChange{Give: spares[0]}
	case lost && (d.Members[loser].Leaving || voters > 3 && severalGone(d, gone)):
		return VoteChange{Take: loser}
	}
	return VoteChange{}
}

func (d *Document) witnesses() []MemberID {
	var ids []MemberID
	for id, m := range d.Members {
		if m.Witness {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// firstToLose returns the voter whose vote matters least: who was removed or leaves, then who is gone longest, then a
// witness that is not needed, then the last by name. The primary comes last of all.
func firstToLose(d *Document, gone map[MemberID]time.Duration, noWitness bool) MemberID {
	weight := func(id MemberID) time.Duration {
		m, known := d.Members[id]
		switch {
		case !known || m.Leaving:
			return 1 << 62
		case id == d.Primary && (d.Phase == Appointed || d.Phase == Serving):
			return -1
		case m.Witness && noWitness:
			return 1 << 61
		default:
			return gone[id]
		}
	}
	var loser MemberID
	for _, id := range d.Voters {
		if loser == "" || weight(id) >= weight(loser) {
			loser = id
		}
	}
	return loser
}

func severalGone(d *Document, gone map[MemberID]time.Duration) bool {
	n := 0
	for _, id := range d.Voters {
		if gone[id] >= voteTimeout {
			n++
		}
	}
	return n >= 2
}
