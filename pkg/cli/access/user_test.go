package access

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// speaking is an engine whose users have databases that speak SQL.
type speaking struct{ opstest.Engine }

func (speaking) Capabilities() engine.Capabilities { return engine.Capabilities{SQL: true} }

func TestRights(t *testing.T) {
	for _, test := range []struct {
		of   engine.Engine
		user engine.User
		want string
	}{
		{speaking{}, engine.User{Admin: true}, "everything"},
		{speaking{}, engine.User{Grants: []engine.Grant{{Prefix: "shop"}}}, "read and write database shop"},
		{speaking{}, engine.User{Grants: []engine.Grant{{Prefix: "shop", ReadOnly: true}}}, "read database shop"},
		{opstest.Engine{}, engine.User{Grants: []engine.Grant{{Prefix: "/shop/"}, {ReadOnly: true}}},
			"read and write /shop/*, read all data"},
	} {
		if got := rights(test.of, test.user); got != test.want {
			t.Errorf("%v may %s, want %s", test.user, got, test.want)
		}
	}
}
