package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// makeRoom drops history and gives its space back, one member at a time, the
// leader last. nil once every member has room, no matter who made it: more quota
// needs no less history. Only a member that was defragmented shows how much
// really is in use, so the first one that is still full ends it.
func makeRoom(p rules.Situation) *ops.Decision {
	full := fullerThan(p, pressed)
	if len(full) == 0 {
		return nil
	}
	if d := compaction(p); d != nil {
		return d
	}
	var rest []string
	for _, name := range full {
		if p.S.Fact(FactDefragmented(name)) == "" {
			rest = append(rest, name)
		}
	}
	for _, name := range fullerThan(p, engine.Brimful) {
		if p.S.Fact(FactDefragmented(name)) != "" {
			return rules.Block(NoRoom(p, name))
		}
	}
	d := defragmentNext(p, rest)
	if d != nil && d.Step != nil && d.Step.Action == ops.ActionDefragment {
		d.Step.Reason = "it gives back what history and deleted keys took; it does not answer meanwhile"
	}
	return d
}

// fullerThan lists voters whose data takes more than a share of what they may
// hold; one of which the limit is not known may be.
func fullerThan(p rules.Situation, share float64) []string {
	var out []string
	for _, name := range p.VoterNames() {
		if m := p.S.View.Member(name); float64(m.DataBytes) > share*float64(m.QuotaBytes) {
			out = append(out, name)
		}
	}
	return out
}

// NoRoom says what is left to do where nothing is to be freed any more.
func NoRoom(p rules.Situation, member string) *ops.Error {
	m, name := p.S.View.Member(member), p.S.Cluster.Name
	hint := "delete keys and repeat the command"
	if c := p.S.Operation.Spec.Compaction; c != nil && c.Keep > 0 {
		hint += fmt.Sprintf("; or keep less history: kubectl dbop alarms clear %s --keep-revisions 0", name)
	}
	if a, ok := p.E.(engine.Adviser); ok {
		if option := a.SpaceOption(); option != "" {
			hint += fmt.Sprintf("; or allow more data: kubectl dbop configure %s --set %s=%d, and repeat it then",
				name, option,
				2*max(m.QuotaBytes, m.DataBytes))
		}
	}
	return &ops.Error{Kind: ops.Refused, Check: "space", Hint: hint,
		Message: fmt.Sprintf(
			"without history and free space the data of %s still has %d of the %d bytes that it may have, and the "+
				"alarm would come back at once", member, m.DataBytes, m.QuotaBytes)}
}
