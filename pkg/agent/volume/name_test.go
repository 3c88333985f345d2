package volume

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestName(t *testing.T) {
	t.Parallel()
	a, b := NewName(4), NewName(4)
	if len(a) != 8 || a == b {
		t.Errorf("two names are %s and %s", a, b)
	}
	standby := protocol.Standby{Member: "my.db-1", Volume: a}
	if got, ok := ParseCopyName(CopyName(standby)); !ok || got != standby {
		t.Errorf("%s is read as %+v", CopyName(standby), got)
	}
	for _, name := range []string{"", "walreceiver", ".abcd"} {
		if got, ok := ParseCopyName(name); ok {
			t.Errorf("%q is read as %+v", name, got)
		}
	}
}
