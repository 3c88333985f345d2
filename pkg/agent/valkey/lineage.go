package valkey

// branch is a timeline and the offset after which it goes on.
type branch struct {
	Timeline uint64 `json:"timeline"`
	Begin    uint64 `json:"begin"`
}

// lineage are the timelines that a copy followed, oldest first.
type lineage []branch

// keptBranches bounds a lineage: the oldest go first.
const keptBranches = 64

// at returns the timeline of the byte before an offset.
func (l lineage) at(offset uint64) uint64 {
	timeline := uint64(1)
	for _, b := range l {
		if offset > b.Begin {
			timeline = b.Timeline
		}
	}
	return timeline
}

// last returns the timeline that a copy follows now.
func (l lineage) last() uint64 {
	if len(l) == 0 {
		return 1
	}
	return l[len(l)-1].Timeline
}

// next returns the lineage of a primary that was promoted at an offset.
func (l lineage) next(timeline, begin uint64) lineage {
	next := make(lineage, 0, len(l)+1)
	for _, b := range l {
		if b.Begin <= begin {
			next = append(next, b)
		}
	}
	next = append(next, branch{Timeline: timeline, Begin: begin})
	return next[max(0, len(next)-keptBranches):]
}

// holds says whether data that ends at an offset of its own lineage is the beginning of this one.
func (l lineage) holds(own lineage, end uint64) bool {
	mine := own.at(end)
	known := mine == 1
	for _, b := range l {
		if known {
			return end <= b.Begin // the branch after its own
		}
		known = b.Timeline == mine
	}
	return known
}
