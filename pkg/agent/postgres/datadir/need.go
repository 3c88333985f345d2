package datadir

// Need says what becomes of a file of the log that waits for the archive.
type Need int

const (
	// Undecided is a file of a timeline that this copy is not on yet.
	Undecided Need = iota
	// Needed is one of the history of this copy, Useless any other.
	Needed
	Useless
)

// Needs judges a file by its name.
func (l Lineage) Needs(name string) Need {
	if timeline, history := HistoryOf(name); history {
		return l.needs(timeline, 0)
	}
	timeline, number, segment := SegmentOf(name)
	if !segment {
		return Useless
	}
	return l.needs(timeline, (number+1)*SegmentSize)
}

func (l Lineage) needs(timeline uint64, end LSN) Need {
	if timeline >= l.Timeline {
		if timeline == l.Timeline {
			return Needed
		}
		return Undecided
	}
	for _, f := range l.Forks {
		if f.Timeline == timeline && end <= f.End {
			return Needed
		}
	}
	return Useless
}
