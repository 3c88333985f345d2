package agreed

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func refuse(check, format string, args ...any) error {
	return &engine.Refusal{Check: check, Reason: fmt.Sprintf(format, args...)}
}

// whole refuses where nobody knows who is a member.
func whole(v engine.View) error {
	switch {
	case len(v.ClusterIDs) > 1:
		return refuse("split", "the members belong to different clusters: %v", v.ClusterIDs)
	case !v.Quorum:
		return refuse("quorum", "the agents have no majority")
	}
	return nil
}

// CheckCreate implements engine.Rules.
func (e Rules) CheckCreate(spec v1alpha1.DatabaseClusterSpec, _ bool) error {
	if most := e.MaxMembers; spec.Members < 1 || int(spec.Members) > most {
		return refuse("size", "%d members are not between 1 and %d", spec.Members, most)
	}
	return nil
}

// CheckAdd implements engine.Rules: a cluster is repaired before it grows.
func (e Rules) CheckAdd(v engine.View) error {
	if err := whole(v); err != nil {
		return err
	}
	if joining := v.Joining(); len(joining) > 0 {
		return refuse("joining", "member %s is still joining", joining[0].Name)
	}
	for _, r := range v.MemberList {
		if err := e.Health(v, r.Name); err != nil {
			return refuse("members-healthy", "%v; bring it back or remove it before another member joins", err)
		}
	}
	return nil
}

// JoinsAtOnce implements engine.Rules. The agents add members to their group one after the other by themselves; two
// copies of the data at a time are what a primary makes beside its work.
func (Rules) JoinsAtOnce(engine.View, map[string]int) int { return 2 }

// CheckRemove implements engine.Rules: a majority of those that stay is well,
// and one of them has the data.
func (e Rules) CheckRemove(v engine.View, member string) error {
	if err := whole(v); err != nil {
		return err
	}
	if _, listed := v.Registered(member); !listed {
		return nil
	}
	others := func(entries []engine.Registered) (n, well int) {
		for _, r := range entries {
			if r.Name == member {
				continue
			}
			n++
			if e.Health(v, r.Name) == nil {
				well++
			}
		}
		return n, well
	}
	data, copies := others(v.Data())
	witnesses, watching := others(v.Witnesses())
	if copies == 0 {
		return refuse("last-copy", "no other member than %s is known to have the data", member)
	}
	if need := quorum(Votes(data, witnesses)); copies+watching < need {
		return refuse("quorum", "without %s %d members are healthy, and %d are needed", member, copies+watching, need)
	}
	return nil
}

// CheckSettings implements engine.Rules.
func (Rules) CheckSettings(engine.View, v1alpha1.DatabaseClusterSpec, bool) error { return nil }

// readable refuses where the data would have to be rewritten.
func (e Rules) readable(from, to string) error {
	if engine.SameSeries(e.Versions, from, to) {
		return nil
	}
	if order, ok := e.CompareVersions(from, to); ok && order < 0 && e.ReadsOlder {
		return nil
	}
	return &engine.Refusal{Check: "series",
		Reason: fmt.Sprintf("data of %s can't be read by %s, and is not rewritten yet", from, to),
		Hint:   "stay within series " + e.Series(from)}
}

// step judges that every whole member goes to target, in that direction.
func (e Rules) step(v engine.View, target string, direction int) error {
	if err := whole(v); err != nil {
		return err
	}
	for _, r := range v.Joined() {
		if err := e.Health(v, r.Name); err != nil {
			return refuse("members-healthy", "%v", err)
		}
		if r.Witness {
			continue // it runs no server, so it has no version
		}
		have := v.Member(r.Name).Version
		if err := e.readable(have, target); err != nil {
			return err
		}
		if order, ok := e.CompareVersions(target, have); !ok || order*direction < 0 {
			return &engine.Refusal{Check: "direction",
				Reason: fmt.Sprintf("%s runs %s, and %s is on the other side of it", r.Name, have, target),
				Hint:   "choose another version"}
		}
	}
	return nil
}

// CheckUpgrade implements engine.Rules.
func (e Rules) CheckUpgrade(v engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	return e.step(v, target, 1)
}

// CheckDowngrade implements engine.Rules.
func (e Rules) CheckDowngrade(v engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	return e.step(v, target, -1)
}

// Preparation implements engine.Rules.
func (Rules) Preparation(engine.View, string) string { return "" }

// CheckUpgraded implements engine.Rules.
func (Rules) CheckUpgraded(v engine.View, target string) error {
	for _, r := range v.Joined() {
		if m := v.Member(r.Name); m.Version != target && !r.Witness {
			return fmt.Errorf("%s runs %q, not %s: %w", r.Name, m.Version, target, engine.ErrNotReady)
		}
	}
	return nil
}

// CheckLowered implements engine.Rules: releases of a series read each other's data.
func (Rules) CheckLowered(engine.View, string) error { return nil }

// CheckRollback implements engine.Rules.
func (e Rules) CheckRollback(v engine.View, to string) error {
	for _, m := range v.Members {
		if m.Reachable && m.Version != "" {
			if err := e.readable(m.Version, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckRestore implements engine.Rules.
func (e Rules) CheckRestore(from, target string) error { return e.readable(from, target) }
