package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// CheckUpgraded implements engine.Rules. The last member's restart is not the
// end: the leader then raises the cluster version, and from 3.6 on each member
// migrates its storage.
func (*Engine) CheckUpgraded(v engine.View, target string) error {
	if v.DowngradeUnknown && v.Quorum {
		return fmt.Errorf("no leader says whether a downgrade is under way: %w", engine.ErrNotReady)
	}
	return checkVoters(v, "upgrade", target, func(m engine.Member, to versions.Version) error {
		if has, err := versions.Parse(m.Version); err != nil || has != to {
			return fmt.Errorf("member %s runs version %s, not %s: %w", m.Name, said(m.Version), to, engine.ErrNotReady)
		}
		if err := speaks(m, to); err != nil || to.Line().Less(versions.SchemaLine) {
			return err
		}
		return stores(m, to)
	})
}

// checkVoters lets judge say of every voter whether the change to target has
// come to it; one that was not reached, or no quorum, is engine.ErrNotReady.
func checkVoters(v engine.View, change, target string, judge func(m engine.Member, to versions.Version) error) error {
	to, err := versions.Parse(target)
	if err != nil {
		return fmt.Errorf("check the %s: %w", change, err)
	}
	if !v.Quorum {
		return fmt.Errorf("the cluster has no quorum: %w", engine.ErrNotReady)
	}
	for _, voter := range v.Voters() {
		m := v.Member(voter.Name)
		if !m.Reachable {
			return fmt.Errorf("member %s was not reached%s: %w", m.Name, because(m.Problem), engine.ErrNotReady)
		}
		if err := judge(m, to); err != nil {
			return err
		}
	}
	return nil
}

func speaks(m engine.Member, to versions.Version) error {
	if to.Line().Speaks(m.Protocol) {
		return nil
	}
	return fmt.Errorf("member %s speaks cluster version %s, not %s: %w", m.Name, said(m.Protocol), to.Line(),
		engine.ErrNotReady)
}

func stores(m engine.Member, to versions.Version) error {
	if to.Line().Speaks(m.Schema) {
		return nil
	}
	return fmt.Errorf("member %s has storage version %s, not %s: %w", m.Name, said(m.Schema), to.Line(),
		engine.ErrNotReady)
}

func said(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// CheckRollback implements engine.Rules. An older binary joins as long as the
// cluster speaks its protocol, that is until the last member was upgraded;
// from then on it refuses to start.
func (*Engine) CheckRollback(v engine.View, to string) error {
	back, err := versions.Supported(to)
	if err != nil {
		return err
	}
	known := false
	for _, m := range v.Members {
		if !m.Reachable {
			continue
		}
		if reported, err := versions.Parse(m.Protocol); err == nil {
			known = true
			if reported.Line() != back.Line() {
				return refusal.New("rollback", refusal.Command("restore", v),
					"the cluster speaks %s already and a member of version %s cannot join it any more", m.Protocol, back)
			}
		}
		if stored, err := versions.Parse(m.Schema); err == nil && back.Line().Less(stored.Line()) {
			return refusal.New("rollback", refusal.Command("restore", v),
				"the data of member %s has the format of %s already, which version %s cannot read", m.Name, m.Schema, back)
		}
	}
	if !known {
		return refusal.New("rollback", refusal.Command("status", v),
			"no member says which version the cluster speaks, so it is not known whether %s may still join", back)
	}
	return nil
}
