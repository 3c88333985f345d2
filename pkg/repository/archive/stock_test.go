package archive

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestStockTools restores a backup and a segment of the log as docs/repository-format.md tells, by a shell, age,
// zstd and tar, without this program.
func TestStockTools(t *testing.T) {
	age := storetest.Program(t, "age")
	for _, name := range []string{"zstd", "tar", "sh"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here", name)
		}
	}
	keys, secret := testKeys(t)
	dir := filepath.Join(t.TempDir(), "repo")
	s, err := store.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	body := pages(9 << 20)
	var archived bytes.Buffer
	w := tar.NewWriter(&archived)
	header := &tar.Header{Name: "PG_VERSION", Mode: 0o600, Size: int64(len(body)), ModTime: time.Unix(1, 0)}
	if err := w.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := Open(s, keys)
	mustSave(t, a, "b", archived.Bytes())
	if err := a.Log(scope, "1").Append(t.Context(), numbered(1), body[:1000]); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key.txt")
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `set -eu
cd "$REPO"/data/team-a/my-db/*/
for v in snapshot.db.*.zst.age; do "$AGE" -d -i "$KEY" "$v" | zstd -dcq; done | tar -x -C "$OUT"
cd "$REPO"/log/team-a/my-db/1/1/
"$AGE" -d -i "$KEY" *.zst.age | zstd -dcq > "$OUT"/segment
cd "$REPO"/manifests/team-a/my-db/
grep -o '"sha256": "[0-9a-f]*"' *.json | cut -d'"' -f4 > "$OUT"/want
cd "$REPO"/data/team-a/my-db/*/
sha256sum snapshot.db.* | cut -d' ' -f1 > "$OUT"/got
cmp "$OUT"/want "$OUT"/got
`
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "REPO="+dir, "AGE="+age, "KEY="+key, "OUT="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, strings.TrimSpace(string(text)))
	}
	for name, want := range map[string][]byte{"PG_VERSION": body, "segment": body[:1000]} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes instead of %d, %v", name, len(got), len(want), err)
		}
	}
}
