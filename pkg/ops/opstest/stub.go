package opstest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Advised is a stub that knows one alarm.
type Advised struct{ Stub }

// Stub is an engine with the rules of a quorum database at their plainest. It
// embeds the interface, so a question that a test does not expect panics.
type Stub struct {
	engine.Engine

	noLearners bool
	Prepares   string
}

// Witnesses there are none.
func (Stub) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 0 }

// MinAvailable is a majority.
func (Stub) MinAvailable(members int) int {
	if members < 2 {
		return 0
	}
	return members/2 + 1
}

// AssessLoss is nothing: a majority has what was acknowledged.
func (Stub) AssessLoss(engine.View, string) string { return "" }

func (Stub) Name() string { return "stub" }

// CompareVersions orders by number.
func (Stub) CompareVersions(a, b string) (int, bool) { return Versions(2).CompareVersions(a, b) }

// Series is the first two numbers.
func (Stub) Series(version string) string { return Versions(2).Series(version) }

func (s Stub) Capabilities() engine.Capabilities {
	return engine.Capabilities{Quorum: true, Learners: !s.noLearners, HandOver: true, Announce: true, Users: true,
		MaxMembers: 7, OddMembers: true}
}

func (Stub) CheckCreate(spec v1alpha1.DatabaseClusterSpec, force bool) error {
	if spec.Members%2 == 0 && !force {
		return &engine.Refusal{Check: "size", Reason: "an even size"}
	}
	return nil
}

func (Stub) Health(v engine.View, member string) error {
	m := v.Member(member)
	r, ok := v.Registered(member)
	switch {
	case !m.Reachable:
		return fmt.Errorf("%s does not answer", member)
	case !ok || !r.Voter && !r.Spare || !m.Serving:
		return fmt.Errorf("%s does not serve", member)
	}
	return nil
}

func (s Stub) healthy(v engine.View) []string {
	var out []string
	for _, r := range v.Voters() {
		if s.Health(v, r.Name) == nil {
			out = append(out, r.Name)
		}
	}
	return out
}

func (s Stub) CheckAdd(v engine.View) error {
	if len(s.healthy(v)) < len(v.Voters()) {
		return &engine.Refusal{Check: "members-healthy", Reason: "a member is down"}
	}
	return nil
}

// JoinsAtOnce is one.
func (Stub) JoinsAtOnce(engine.View, map[string]int) int { return 1 }

func (s Stub) CheckRemove(v engine.View, member string) error {
	rest := 0
	for _, h := range s.healthy(v) {
		if h != member {
			rest++
		}
	}
	if n := len(v.Voters()) - 1; n < 1 || rest < n/2+1 {
		return &engine.Refusal{Check: "quorum", Reason: "what stays has no quorum"}
	}
	return nil
}

func (Stub) CheckSettings(v engine.View, spec v1alpha1.DatabaseClusterSpec, _ bool) error {
	if spec.Config["speed"] == "none" {
		return &engine.Refusal{Check: "config", Reason: "no such speed", Hint: "choose another"}
	}
	for _, m := range v.Members {
		if spec.Config["room"] == "none" && m.Reachable {
			return &engine.Refusal{Check: "quota", Reason: m.Name + " has too much data", Hint: "give it more room"}
		}
	}
	return nil
}

func (s Stub) CheckUpgrade(v engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	if target == "9.9.9" {
		return &engine.Refusal{Check: "skipped-minor", Reason: "too far"}
	}
	return s.CheckAdd(v)
}

func (Stub) CheckUpgraded(v engine.View, target string) error {
	for _, r := range v.Voters() {
		if m := v.Member(r.Name); !engine.SameSeries(Versions(2), m.Protocol, target) {
			return fmt.Errorf("%s speaks %s", m.Name, m.Protocol)
		}
	}
	return nil
}

func (s Stub) CheckDowngrade(v engine.View, _ v1alpha1.DatabaseClusterSpec, target string) error {
	if target == "0.9.0" {
		return &engine.Refusal{Check: "skipped-minor", Reason: "too far"}
	}
	for _, m := range v.Members {
		if v.Downgrade == "" && m.Schema != "" && !engine.SameSeries(Versions(2), m.Schema, m.Version) {
			return fmt.Errorf("%s writes %s still: %w", m.Name, m.Schema, engine.ErrNotReady)
		}
	}
	return s.CheckAdd(v)
}

func (Stub) CheckLowered(v engine.View, target string) error {
	for _, r := range v.Voters() {
		m := v.Member(r.Name)
		if !engine.SameSeries(Versions(2), m.Protocol, target) ||
			(!engine.SameSeries(Versions(2), m.Version, target) && !engine.SameSeries(Versions(2), m.Schema, target)) {
			return fmt.Errorf("%s speaks %s and writes %s", m.Name, m.Protocol, m.Schema)
		}
	}
	return nil
}

func (Stub) CheckRollback(v engine.View, to string) error {
	for _, m := range v.Members {
		if m.Reachable && !engine.SameSeries(Versions(2), m.Protocol, to) {
			return &engine.Refusal{Check: "rollback", Reason: "too late"}
		}
	}
	return nil
}

func (s Stub) Preparation(engine.View, string) string { return s.Prepares }

func (s Stub) Tolerates(v engine.View) int { return len(s.healthy(v)) - (len(v.Voters())/2 + 1) }

func (s Stub) Successor(v engine.View, except ...string) string {
	for _, h := range s.healthy(v) {
		if !v.Member(h).Role.Leads() && !slices.Contains(except, h) {
			return h
		}
	}
	return ""
}

func (s Stub) RemovalCandidate(v engine.View) string {
	candidate := ""
	for _, r := range v.Data() {
		if s.Health(v, r.Name) != nil {
			return r.Name
		}
		if !v.Member(r.Name).Role.Leads() {
			candidate = r.Name
		}
	}
	if candidate == "" {
		candidate = v.Data()[0].Name
	}
	return candidate
}

func (s Stub) Source(v engine.View, leader bool) string {
	healthy := s.healthy(v)
	if l, ok := v.Leader(); ok && leader && slices.Contains(healthy, l.Name) {
		return l.Name
	}
	if len(healthy) == 0 {
		return ""
	}
	return healthy[len(healthy)-1]
}

func (Stub) Options(c *v1alpha1.DatabaseCluster, _ string) (map[string]string, error) {
	return c.Spec.Config, nil
}

// ErrStub is an engine's transient failure.
var ErrStub = errors.New("the database did not answer")
