package agent

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// damaged is an index that no server needs to start.
const damaged = "pg_description_o_c_o_index"

// TestCheckData: a page of an index of a catalogue whose checksum is right, and whose order is not, is named.
func TestCheckData(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Async, members: 1})
	m := s.awaitPrimary()
	if _, err := m.ask("dbop", 10*time.Second, `CREATE DATABASE "it's" TEMPLATE template0;`); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ask("dbop", 10*time.Second,
		`ALTER DATABASE "it's" SET default_transaction_read_only = on; ALTER DATABASE "it's" SET statement_timeout = 1`,
	); err != nil {
		t.Fatal(err)
	}
	whole, err := m.client.CheckData(t.Context())
	if err != nil || !strings.Contains(whole.By, "pg_amcheck") || len(whole.Problems) > 0 {
		t.Fatalf("of whole data: %+v, %v", whole, err)
	}
	got, err := m.ask("dbop", 10*time.Second, "SELECT pg_relation_filepath('"+damaged+"')")
	if err != nil {
		t.Fatal(err)
	}
	m.stop()
	pgdata := filepath.Join(m.directory, "data", "pgdata")
	checksums := exec.Command(filepath.Join(programs(t), "pg_checksums"), "--disable", "--pgdata", pgdata)
	checksums.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner}
	if out, err := checksums.CombinedOutput(); err != nil {
		t.Fatalf("pg_checksums: %v: %s", err, out)
	}
	exchange(t, filepath.Join(pgdata, got[0][0]))
	m.start()
	s.wait("a primary", func() bool { return s.primary() == m })
	found, err := m.client.CheckData(t.Context())
	if err != nil || len(found.Problems) != 1 || !strings.Contains(found.Problems[0], damaged) ||
		!strings.Contains(found.Problems[0], "item order invariant violated") {
		t.Errorf("of damaged data: %+v, %v", found, err)
	}
	t.Log(found.Problems)
}

// exchange exchanges two entries of the first leaf of an index: its page has its header in the first 24 bytes, and then
// four for each entry.
func exchange(t *testing.T, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := raw[8192:16384]
	if lower := binary.LittleEndian.Uint16(page[12:]); lower < 24+4*60 {
		t.Fatalf("the page has %d bytes of entries", lower)
	}
	a, b := page[24+4*10:24+4*11], page[24+4*50:24+4*51]
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
