package bucket

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// TestDrill: a key reads what was encrypted to it, and what it does not read is told.
func TestDrill(t *testing.T) {
	dir := t.TempDir()
	d, s := described(t)
	second, recipient, err := archive.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	both := d
	both.Recipients = append([]string{recipient}, d.Recipients...)
	names := make([]string, 3)
	for i, with := range []Description{d, both, both} {
		r := inDirectory(t, dir, with, s)
		names[i] = strings.Replace(id, "db-", fmt.Sprintf("db%d-", i), 1)
		w, err := r.Writer(t.Context(), names[i], fmt.Sprint("op-", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, strings.Repeat("content ", 1000)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context(), manifest(), opened); err != nil {
			t.Fatal(err)
		}
	}
	third, _, err := archive.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		of       Description
		identity string
		want     Drill
	}{
		"the first key":  {both, string(s[FileIdentity]), Drill{Current: true, Read: 3, Tried: 3, All: 3}},
		"a later key":    {both, second, Drill{Current: true, Read: 2, Tried: 3, All: 3, Lost: names[0]}},
		"one taken back": {d, second, Drill{Read: 2, Tried: 3, All: 3, Lost: names[0]}},
		"a third key":    {both, third, Drill{Tried: 3, All: 3, Lost: names[2]}},
	} {
		got, err := inDirectory(t, dir, c.of, Secrets{}).Drill(t.Context(), c.identity)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
	}
	r := inDirectory(t, dir, both, Secrets{})
	if _, err := r.Drill(t.Context(), "no key"); err == nil || strings.Contains(err.Error(), "no key\"") {
		t.Errorf("a file that holds no key: %v", err)
	}
	volumes, err := filepath.Glob(filepath.Join(dir, "data", "*", "*", "*", "*"))
	if err != nil || len(volumes) == 0 {
		t.Fatalf("%v, %v", volumes, err)
	}
	for _, path := range volumes {
		if err := os.WriteFile(path, []byte("age-encryption.org/v1\n-> X25519 spoiled"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Drill(t.Context(), second); err != nil || got.Unknown != 3 || got.Read != 0 || got.Lost != "" {
		t.Errorf("spoiled headers: %+v, %v", got, err)
	}
	others, _ := described(t)
	if got, err := inDirectory(t, dir, others, Secrets{}).Drill(t.Context(), second); err != nil || got.Unknown != 3 {
		t.Errorf("signed by others: %+v, %v", got, err)
	}
}
