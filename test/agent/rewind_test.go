package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// held is PostgreSQL whose first rewind waits for the test, and fails then.
type held struct{ postgres }

// waits and ends are the files by which the rewind and the test wait for each other.
func (held) waits(s *site) string { return filepath.Join(s.dir, "programs", "waits") }
func (held) ends(s *site) string  { return filepath.Join(s.dir, "programs", "ends") }

func (h held) configure(m *member, configuration map[string]any) {
	s := m.site
	h.postgres.configure(m, configuration)
	directory := filepath.Join(s.dir, "programs")
	configuration["postgres"].(map[string]any)["bin"] = directory
	if err := os.Mkdir(directory, 0o755); os.IsExist(err) {
		return
	}
	all, err := filepath.Glob(filepath.Join(programs(s.t), "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, program := range all {
		name := filepath.Join(directory, filepath.Base(program))
		if filepath.Base(program) != "pg_rewind" {
			err = os.Symlink(program, name)
		} else {
			err = os.WriteFile(name, fmt.Appendf(nil, `#!/bin/sh
if mkdir %[1]q 2>/dev/null; then
	while ! test -e %[2]q; do sleep 0.05; done
	echo "the test ends this rewind" >&2
	exit 1
fi
exec %[3]q "$@"
`, h.waits(s), h.ends(s), program), 0o755)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.own(directory)
}

// TestRewindWithoutPrimary: a primary that dies during the rewind of a copy makes nobody think that the copy is unfit.
func TestRewindWithoutPrimary(t *testing.T) {
	t.Parallel()
	h := held{}
	s := begin(t, options{durability: protocol.Strict, members: 3, engine: h}, 1)
	// A primary needs a rewind where it wrote what none of its replicas received.
	killed := s.awaitPrimary()
	s.cut(true, killed, s.replicas(killed)...)
	if _, err := killed.ask("dbop", 10*time.Second, "SET synchronous_commit = local; "+
		"SELECT pg_logical_emit_message(true, 'test', 'no replica receives this')"); err != nil {
		t.Fatal(err)
	}
	killed.kill()
	s.wait("another primary", func() bool { p := s.primary(); return p != nil && p != killed })
	s.mend()
	killed.start()
	s.wait("its rewind", func() bool { _, err := os.Stat(h.waits(s.site)); return err == nil })
	killed = s.awaitPrimary()
	killed.kill()
	// The rewind fails before another primary ends it.
	if err := os.WriteFile(h.ends(s.site), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wait("another primary", func() bool { p := s.primary(); return p != nil && p != killed })
	killed.start()
	s.wait("whole", s.whole)
	s.clients.check(t)
}
