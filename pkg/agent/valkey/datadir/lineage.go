package datadir

import "math"

// Branch is a timeline and the offset after which it goes on.
type Branch struct {
	Timeline uint64 `json:"timeline"`
	Begin    uint64 `json:"begin"`
	// ID is the replication ID under which its primary sends it, and Base what is added to the offsets of that server.
	// Both are written before the primary takes a write.
	ID   string `json:"id,omitempty"`
	Base int64  `json:"base,omitempty"`
	// Unsure says that the data may end elsewhere on the timeline before: a server ended without an order, and where was
	// estimated.
	Unsure bool `json:"unsure,omitempty"`
}

// Lineage are the timelines that a copy followed, oldest first.
type Lineage []Branch

// keptBranches bounds a lineage: the oldest go first.
const keptBranches = 64

// At returns the timeline of the byte before an offset.
func (l Lineage) At(offset uint64) uint64 {
	timeline := uint64(1)
	for _, b := range l {
		if offset > b.Begin {
			timeline = b.Timeline
		}
	}
	return timeline
}

// After returns the branch of the byte after an offset, and where that branch ends.
func (l Lineage) After(offset uint64) (of Branch, end uint64) {
	of.Timeline = 1
	for _, b := range l {
		if offset < b.Begin {
			return of, b.Begin
		}
		of = b
	}
	return of, math.MaxUint64
}

// Whole says that the oldest branch is the first one of the database.
func (l Lineage) Whole() bool { return len(l) < keptBranches }

// Last returns the timeline that a copy follows now.
func (l Lineage) Last() uint64 {
	if len(l) == 0 {
		return 1
	}
	return l[len(l)-1].Timeline
}

// Next returns the lineage of a primary that was promoted at an offset.
func (l Lineage) Next(timeline, begin uint64) Lineage {
	next := make(Lineage, 0, len(l)+1)
	for _, b := range l {
		if b.Begin <= begin {
			next = append(next, b)
		}
	}
	next = append(next, Branch{Timeline: timeline, Begin: begin})
	return next[max(0, len(next)-keptBranches):]
}

// Holds says whether data that ends at an offset of its own lineage is the beginning of this one.
func (l Lineage) Holds(own Lineage, end uint64) bool {
	mine := own.At(end)
	known := mine == 1
	for _, b := range l {
		if known {
			return end <= b.Begin // the branch after its own
		}
		known = b.Timeline == mine
	}
	return known
}
