package agreed

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestHealthOfFullDisk: a disk that is full is the first reason, and none by itself.
func TestHealthOfFullDisk(t *testing.T) {
	t.Parallel()
	view := func(position engine.Position, used int64) engine.View {
		member := func(name string, role engine.Role, at engine.Position) engine.Member {
			return engine.Member{Name: name, ID: name, Reachable: true, Role: role, Serving: true, Leader: "pg-0",
				Position: at}
		}
		v := engine.View{Quorum: true, Members: []engine.Member{member("pg-0", engine.RolePrimary, "7/1/50"),
			member("pg-1", engine.RoleReplica, position)},
			MemberList: []engine.Registered{{ID: "pg-0", Name: "pg-0", Voter: true, Started: true},
				{ID: "pg-1", Name: "pg-1", Voter: true, Started: true}}}
		v.Members[1].Disk = engine.Disk{Used: used << 20, Total: 236 << 20}
		return v
	}
	const compares = "member pg-1 is at 7/9/9, which can't be compared"
	for name, c := range map[string]struct {
		at   engine.Position
		used int64
		want string
	}{
		"sick and full": {"7/9/9", 236, "the disk of member pg-1 is 100% full (236 of 236 MiB): " + compares},
		"sick":          {"7/9/9", 100, compares},
		"full":          {"7/1/50", 236, ""},
	} {
		err := Rules{}.Health(view(c.at, c.used), "pg-1")
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHealthOfSettling: a member that serves and has not settled is not healthy.
func TestHealthOfSettling(t *testing.T) {
	t.Parallel()
	v := engine.View{Quorum: true, Members: []engine.Member{{Name: "pg-1", ID: "pg-1", Reachable: true, Serving: true,
		Role: engine.RoleReplica, Leader: "pg-0", Settling: "does not confirm writes yet"}},
		MemberList: []engine.Registered{{ID: "pg-1", Name: "pg-1", Voter: true, Started: true}}}
	if err := (Rules{}).Health(v, "pg-1"); err == nil || err.Error() != "member pg-1 does not confirm writes yet" {
		t.Errorf("%v", err)
	}
}
