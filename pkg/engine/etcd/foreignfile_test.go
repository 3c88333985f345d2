package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestForeignFile reads what etcdctl saved of a real server, and refuses what
// is like it: a damaged one, and files of the server's data directory.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "foreign", 1, func(f *fleet) { f.cluster.Spec.TLS.Disabled, f.tls = true, nil })
	seed := f.name(1)
	f.form(series36, seed)
	f.fill(seed)
	file := filepath.Join(f.dir, "saved.db")
	out, err := exec.CommandContext(t.Context(), program(t, series36, "etcdctl"), "snapshot", "save", file,
		fmt.Sprintf("--endpoints=http://127.0.0.1:%d", f.members[seed].client)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	facts, err := New().OpenSnapshot(file, false)
	if err != nil || facts.Schema != "3.6.0" || counted(facts.Fingerprint, "keys") == 0 || len(facts.Members) != 1 {
		t.Fatalf("facts %+v, %v", facts, err)
	}
	f.kill(seed)
	read := func(path string) []byte {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	saved := read(file)
	flipped := bytes.Clone(saved)
	flipped[len(flipped)/3] ^= 1
	logs, err := filepath.Glob(filepath.Join(f.members[seed].data, "member/wal/*.wal"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log: %v", err)
	}
	for name, c := range map[string]struct {
		data []byte
		why  string
	}{
		"truncated":          {saved[:len(saved)-100], "cut off"},
		"without its hash":   {saved[:len(saved)-32], "copied from a data directory"},
		"database of member": {read(filepath.Join(f.members[seed].data, "member/snap/db")), "copied from a data directory"},
		"log of member":      {read(logs[0]), "does not end with a checksum"},
		"flipped":            {flipped, "the checksum does not match"},
		"text":               {[]byte("not a database"), "does not end with a checksum"},
		"signed v2 snapshot": {signed(make([]byte, 4096)), "not a valid snapshot"},
	} {
		if facts, err := open(t, c.data); !errors.Is(err, engine.ErrNotSnapshot) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: facts %+v, %v", name, facts, err)
		}
	}
}
