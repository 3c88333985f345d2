package etcd

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// world builds a view of n healthy voters db-1 to db-n, db-1 leading.
func world(n int, changes ...func(*engine.View)) engine.View {
	v := engine.View{Quorum: true, ClusterIDs: []string{"c1"}}
	for i := 1; i <= n; i++ {
		name := v1alpha1.MemberName("db", i)
		role := engine.RoleFollower
		if i == 1 {
			role = engine.RoleLeader
		}
		v.Members = append(v.Members, engine.Member{
			Name: name, Reachable: true, ID: "id-" + name, ClusterID: "c1", Role: role, Leader: "id-db-1",
			Version: "3.6.16", Protocol: "3.6.0", Schema: "3.6.0", Serving: true, Position: "c1/2/100/50",
		})
		v.MemberList = append(v.MemberList, engine.Registered{ID: "id-" + name, Name: name, Voter: true, Started: true})
	}
	for _, change := range changes {
		change(&v)
	}
	return v
}

// member changes what a member says.
func member(n int, change func(*engine.Member)) func(*engine.View) {
	return func(v *engine.View) { change(&v.Members[n-1]) }
}

// entry changes a line of the roster.
func entry(n int, change func(*engine.Registered)) func(*engine.View) {
	return func(v *engine.View) { change(&v.MemberList[n-1]) }
}

func down(n int) func(*engine.View) {
	return member(n, func(m *engine.Member) {
		*m = engine.Member{Name: m.Name, Role: engine.RoleUnknown,
			Problem: "refused"}
	})
}

func noQuorum(v *engine.View) {
	v.Quorum, v.MemberList = false, nil
	for i := range v.Members {
		v.Members[i].Serving = false
	}
}

func split(v *engine.View) { v.ClusterIDs = []string{"c1", "c2"} }

func learner(n int) func(*engine.View) {
	return func(v *engine.View) {
		v.MemberList[n-1].Voter = false
		v.Members[n-1].Role, v.Members[n-1].Serving = engine.RoleLearner, false
	}
}

func unstarted(n int) func(*engine.View) {
	return func(v *engine.View) {
		entry(n, func(r *engine.Registered) { r.Voter, r.Started = false, false })(v)
		down(n)(v)
	}
}

func running(version string, members ...int) func(*engine.View) {
	return func(v *engine.View) {
		for _, n := range members {
			v.Members[n-1].Version = version
		}
	}
}

func speaking(protocol, schema string) func(*engine.View) {
	return func(v *engine.View) {
		for i := range v.Members {
			v.Members[i].Protocol, v.Members[i].Schema = protocol, schema
		}
	}
}

func applying(n int, position engine.Position) func(*engine.View) {
	return member(n, func(m *engine.Member) { m.Position = position })
}

// notYet means the check of an objection that ends by itself.
const notYet = "not yet"

// expect compares a rule's answer with a check's name and words of its
// reason; no check means that nothing may be refused.
func expect(t *testing.T, err error, check, reason string) {
	t.Helper()
	if check == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if check == notYet {
		if !errors.Is(err, engine.ErrNotReady) || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want to be told to wait, with %q", err, reason)
		}
		return
	}
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v, want a refusal by %s", err, check)
	}
	if refusal.Check != check || !strings.Contains(refusal.Reason, reason) {
		t.Errorf("refused by %s: %q; want %s with %q", refusal.Check, refusal.Reason, check, reason)
	}
	if refusal.Hint == "" || strings.HasSuffix(refusal.Reason, ".") {
		t.Errorf("hint %q, reason %q", refusal.Hint, refusal.Reason)
	}
}

func hint(err error) string {
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Hint
}
