package group

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRemembered: a member that starts alone knows what was agreed on before, in its own incarnation.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	groups := s.openAll()
	if d := groups[0].Remembered(); d != nil {
		t.Errorf("a new member remembers %+v", d)
	}
	s.wait("a leader", func() bool { return leader(groups) != nil })
	s.found(groups[0])
	s.joined(groups[0], 5, initialMembers...)
	file := filepath.Join(s.dirs["m2"], "document")
	s.wait("it is on disk", func() bool {
		m, err := openMemory(s.dirs["m2"], "token")
		return err == nil && m.document != nil && m.document.Members["m1"].Start == 5
	})
	for _, g := range groups {
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := *s.documents["m2"]
	alone := s.open("m2", nil)
	d := alone.Remembered()
	if d == nil || d.Index == 0 || d.Index > want.Index || cmp.Diff(d.Members, want.Members) != "" {
		t.Errorf("it remembers %+v, but knew %+v", d, want)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err := openMemory(s.dirs["m2"], "other"); err != nil || m.document != nil {
		t.Errorf("in another incarnation it remembers %+v: %v", m.document, err)
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := s.open("m2", nil)
	if d := damaged.Remembered(); d != nil || !s.reported("find what the group agreed on before") {
		t.Errorf("what can't be read is remembered as %+v", d)
	}
}
