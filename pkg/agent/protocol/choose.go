package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// Choose returns who of those that reported shall be the primary, and why, or "" and what is missing. It is a pure
// function of the document, so that every member judges an appointment alike.
func Choose(d *Document) (MemberID, string) {
	if missing := incomplete(d); missing != "" {
		return "", missing
	}
	var best MemberID
	for _, id := range d.Data() {
		if _, reported := d.Reports[id]; reported && (best == "" || better(d, id, best)) {
			best = id
		}
	}
	switch {
	case best == "":
		return "", "no member reported its position"
	case len(d.Holds) > 0 && best != d.Primary:
		return "", fmt.Sprintf("a hold allows no other primary than %s", d.Primary)
	}
	if lag := lag(d, best); lag > d.Settings.MaxLag && !acknowledged(d) {
		return "", fmt.Sprintf(
			"%s lacks %d bytes of what the last primary published, more than maxLag (%d): force a failover "+
				"to give them up", best, lag, d.Settings.MaxLag)
	}
	return best, "it holds the most"
}

// better compares two members that reported. The position counts first; among equals a planned target, then the last
// primary, then who stays, then the order of names.
func better(d *Document, id, than MemberID) bool {
	if c := d.Reports[id].Position.Compare(d.Reports[than].Position); c != 0 {
		return c > 0
	}
	return rank(d, id) > rank(d, than)
}

func rank(d *Document, id MemberID) int {
	switch {
	case d.Intent != nil && d.Intent.Target == id:
		return 3
	case d.Members[id].Leaving:
		return 0
	case d.Primary == id:
		return 2
	default:
		return 1
	}
}

// incomplete returns "" if those that reported hold, together, every write that was acknowledged under a set in force,
// or who is missing. Of N standbys W had to acknowledge: R that reported hold each such write if R + W > N.
//
// A reported copy that was made from the last primary holds all that this one held when it was appointed, so what was
// acknowledged before. Of the writes of that primary itself it holds those that the copies before it acknowledged: they
// came before it was made.
func incomplete(d *Document) string {
	held := slices.ContainsFunc(d.Data(), func(id MemberID) bool { return copied(d, id) })
	for _, set := range d.InForce {
		if set.Need == 0 || reported(d, set.Primary) || held && set.Primary.Member != d.Primary {
			continue
		}
		var absent []string
		for _, s := range set.Standbys {
			if !reported(d, s) && !replaced(d, set, s) {
				absent = append(absent, string(s.Member))
			}
		}
		if r := len(set.Standbys) - len(absent); r+set.Need <= len(set.Standbys) {
			return fmt.Sprintf("acknowledged writes may be on %s alone: %s did not report, nor did %s, the primary of then",
				strings.Join(absent, " or "), strings.Join(absent, ", "), set.Primary.Member)
		}
	}
	return ""
}

// reported says that this very copy of the data was reported.
func reported(d *Document, s Standby) bool {
	r, ok := d.Reports[s.Member]
	return ok && r.Volume == s.Volume
}

// copied says that a member reported a copy that was made from the last primary.
func copied(d *Document, id MemberID) bool {
	m := d.Members[id]
	return m.CopiedIn > 0 && m.CopiedIn == d.served() && reported(d, d.standby(id))
}

// replaced says that a copy of a set of the last primary was given up for one that was made from this primary later,
// and was reported.
func replaced(d *Document, set SyncSet, s Standby) bool {
	return set.Primary == d.standby(d.Primary) && copied(d, s.Member) &&
		slices.Contains(d.Members[s.Member].Replaced, s.Volume)
}

// acknowledged says that every write that was acknowledged is on a standby that had to acknowledge it.
func acknowledged(d *Document) bool {
	return len(d.InForce) > 0 && !slices.ContainsFunc(d.InForce, func(s SyncSet) bool { return s.Need == 0 })
}

func lag(d *Document, id MemberID) uint64 {
	if at := d.Reports[id].Position.Offset; at < d.Published.Offset {
		return d.Published.Offset - at
	}
	return 0
}

// FitTarget returns nil if a switchover to a member may begin, as far as the document tells.
func FitTarget(d *Document, target MemberID) error {
	m, known := d.Members[target]
	switch {
	case !known || m.Witness:
		return refuse("%s holds no data", target)
	case target == d.Primary:
		return refuse("%s is the primary", target)
	case m.Leaving || m.Volume == "":
		return refuse("%s leaves, or has no copy of the data yet", target)
	case len(d.Holds) > 0:
		return refuse("a hold allows no other primary than %s: end it first", d.Primary)
	}
	if set := d.Set(); set.Need > 0 && !slices.Contains(set.Standbys, d.standby(target)) {
		return refuse("%s is not in the synchronous set", target)
	}
	return nil
}

// Force returns the appointment of a member that the rules don't take, for a person who was told what is lost.
func Force(d *Document, id MemberID) (*Appoint, error) {
	if _, reported := d.Reports[id]; !reported || d.Phase != Sealed {
		return nil, refuse("%s did not report its position, or there is a primary", id)
	}
	return &Appoint{
		Member: id, Generation: d.Generation, Timeline: d.nextTimeline(), Set: FirstSet(d, id), Forced: true,
	}, nil
}

// Loss is what an appointment gives up.
type Loss struct {
	// Bytes of what the last primary published are missing; what it wrote after that is not known.
	Bytes uint64 `json:"bytes"`
	// Missing says whose copy may hold more that was acknowledged, or is "".
	Missing string `json:"missing,omitempty"`
}

// String says it in one sentence without a full stop.
func (l Loss) String() string {
	text := fmt.Sprintf("%d bytes of what the last primary published are missing, and all that followed it", l.Bytes)
	if l.Missing != "" {
		text += "; " + l.Missing
	}
	return text
}

// LossOf returns what an appointment of a member that reported gives up.
func LossOf(d *Document, id MemberID) Loss { return Loss{Bytes: lag(d, id), Missing: incomplete(d)} }

func (d *Document) nextTimeline() uint64 {
	return max(d.Timeline, d.Published.Timeline, highest(d.Reports)) + 1
}
