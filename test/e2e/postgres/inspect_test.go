//go:build e2e

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspect reads a PostgreSQL that something else made: what it is and what is dangerous about it, by the word of
// the server. Nothing is written to it.
func TestInspect(t *testing.T) {
	s := newScene(t, "inspect")
	release := s.releases(15)[0]
	manifest := filepath.Join(t.TempDir(), "manifest.yaml")
	s.ok(os.WriteFile(manifest, []byte(fmt.Sprintf(outside, release.Image, release.Major)), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.kubectl("wait", "--for=condition=Ready", "pod/outside", "--timeout=60s")
	if r := s.try("inspect", "--selector", "app=outside"); r.Code != 11 ||
		!strings.Contains(r.Stdout, "name a user of the database with --user-secret") {
		t.Errorf("without a password:\n%s", r)
	}
	r := s.try("inspect", "--selector", "app=outside", "--user-secret", "outside")
	for _, words := range []string{"postgres/outside in namespace", " primary ", " " + release.Version + " ",
		"no persistent volume holds the data", "pages have no checksums", "clients are served in plain text",
		"a restore ends at the last backup", "no replica receives its log"} {
		if r.Code != 10 || !strings.Contains(r.Stdout, words) {
			t.Errorf("%q is not told:\n%s", words, r)
		}
	}
	s.refused(4, "is not backed up past its agents", "backup", "--selector", "app=outside", "--user-secret", "outside",
		"--repository", "dir:"+t.TempDir())
}
