package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestRewoundLog: what waits for the archive at a former primary alone is archived after its rewind. Until then nobody
// archives, so the others lack what was there before they copied the data.
func TestRewoundLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: archiving{}})
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	p := s.awaitPrimary()
	waits := func(m *member) []string {
		files, err := m.client.LogFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return files.Names
	}
	alone := waits(p)
	cut := func(cut bool) {
		for _, o := range s.members {
			if o != p {
				s.links[[2]id{p.id, o.id}].set(cut)
				s.links[[2]id{o.id, p.id}].set(cut)
			}
		}
	}
	cut(true)
	if _, err := p.ask("dbop", 10*time.Second, "SET synchronous_commit = local; CREATE TABLE lost (n int)"); err != nil {
		t.Fatal(err)
	}
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	cut(false)
	for _, o := range s.members {
		if o != p {
			others := waits(o)
			alone = slices.DeleteFunc(alone, func(name string) bool { return slices.Contains(others, name) })
		}
	}
	if len(alone) == 0 {
		t.Fatal("the others have all of the log: this shows nothing")
	}
	p.start()
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	if !strings.Contains(p.lastWords(), "the data is rewound") {
		t.Fatal("the data was not rewound: this shows nothing")
	}
	collector := s.collector(t)
	s.wait("all of the log to be archived", func() bool {
		if _, err := collector.Round(t.Context()); err != nil {
			t.Log("collect:", err)
			return false
		}
		all, err := collector.Log.Segments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		missing := slices.Clone(alone)
		for _, f := range all {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == f.Name })
		}
		return len(missing) == 0
	})
	t.Logf("%s had alone, and they are archived: %v", p.id, alone)
}
