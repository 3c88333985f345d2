//go:build linux

package valkey

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/acl"
)

// TestTransactions: a server that ended without an order has the transactions and scripts of before, whatever the user
// default may.
func TestTransactions(t *testing.T) {
	t.Parallel()
	for name, people := range map[string]string{"nobody": "", "somebody": "user default on nopass ~x* +get\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			m := s.open("m1")
			m.UsersFile = filepath.Join(t.TempDir(), "users")
			if err := os.WriteFile(m.UsersFile, []byte(people), 0o600); err != nil {
				t.Fatal(err)
			}
			m.Must(protocol.Job{Kind: protocol.Initialise})
			m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
			m.Serve(1, 2, protocol.SyncSet{Version: 1})
			// With another value a server that flushes holds back what it would write.
			m.command("CONFIG", "SET", "appendfsync", "always")
			for range 10 {
				m.command("EVAL", "redis.call('INCR', KEYS[1]) redis.call('INCR', KEYS[2])", "2", "a", "b")
			}
			if err := m.StopNow(); err != nil {
				t.Fatal(err)
			}
			m.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
			m.Serve(2, 3, protocol.SyncSet{Version: 2})
			if got := m.command("MGET", "a", "b"); got != "10\n10" {
				t.Errorf("the keys are %q after a restart", got)
			}
			rules, err := os.ReadFile(m.rulesFile())
			if err != nil {
				t.Fatal(err)
			}
			if got := m.command("ACL", "GETUSER", "default"); name == "somebody" && !acl.Allows(string(rules), "default", "") {
				t.Errorf("the user default is %q, by the rules %q", got, rules)
			}
			if acl.Allows(string(rules), "default", "") != (name == "somebody") {
				t.Errorf("the rules are %q", rules)
			}
		})
	}
}
