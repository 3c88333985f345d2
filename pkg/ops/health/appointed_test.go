package health

import (
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// appointed is an engine whose members wait for a person where writes may be lost.
type appointed struct{ opstest.Stub }

func (a appointed) Capabilities() engine.Capabilities {
	c := a.Stub.Capabilities()
	c.Failover = true
	return c
}

// TestNobodyLeads: a quorum of members without a leader serves nobody, and the way out is named.
func TestNobodyLeads(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	if v := Assess(appointed{}, s, nil); v.Level != Healthy {
		t.Errorf("with a leader: %+v", v)
	}
	for i := range s.View.Members {
		m := &s.View.Members[i]
		m.Role, m.Leader = engine.RoleReplica, ""
	}
	const failover = "kubectl dbop plan failover db"
	if v := Assess(appointed{}, s, nil); v.Level != Down || !slices.Equal(v.Next, []string{"kubectl dbop diagnose db"}) {
		t.Errorf("without a leader: %+v", v)
	}
	s.View.Candidates = []engine.Candidate{{Member: "db-2", Loss: "7 bytes are missing"}}
	if v := Assess(appointed{}, s, nil); v.Level != Down || !slices.Contains(v.Next, failover) {
		t.Errorf("waiting for a person: %+v", v)
	}
	findings := Diagnose(appointed{}, s, nil).Findings
	i := slices.IndexFunc(findings, func(f ops.Finding) bool { return f.Subject == "leader" })
	if i < 0 || !slices.Contains(findings[i].Evidence, "if db-2 leads: 7 bytes are missing") ||
		!strings.HasSuffix(findings[i].Remedy[0], failover) {
		t.Errorf("diagnose: %+v", findings)
	}
}

// TestNamedLeader: that members name a leader counts as long as that one does not answer, or says that it serves.
func TestNamedLeader(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*engine.Member)
		want   Level
	}{
		"it serves":         {func(m *engine.Member) { m.Serving = true }, Healthy},
		"it is not reached": {func(m *engine.Member) { m.Reachable = false }, Degraded},
		"its server ended":  {func(m *engine.Member) { m.Serving, m.Problem = false, "no server" }, Down},
	} {
		s := opstest.Well(3)
		for i := range s.View.Members {
			if m := &s.View.Members[i]; m.Role.Leads() {
				m.Role = engine.RoleUnknown
				test.change(m)
			}
		}
		if v := Assess(appointed{}, s, nil); v.Level != test.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
