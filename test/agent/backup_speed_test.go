package agent

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
)

// TestBackupSpeed compares a base backup through the agent, checked and written to a file, with what a person types.
func TestBackupSpeed(t *testing.T) {
	if !*speedFlag {
		t.Skip("-speed is not set")
	}
	s := newSite(t, options{durability: protocol.Async, members: 1})
	m := s.awaitPrimary()
	if _, err := m.ask("dbop", 5*time.Minute, "CREATE TABLE much AS SELECT n, md5(n::text) || md5((-n)::text) AS word, "+
		"random() AS number FROM generate_series(1, 8000000) n; CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "copy")
	through := func() error {
		out, err := os.Create(file)
		if err != nil {
			return err
		}
		defer out.Close()
		check := engines.New().CheckStream()
		if err := m.client.Copy(t.Context(), io.MultiWriter(check, out)); err != nil {
			return err
		}
		if err := check.Close(); err != nil {
			return err
		}
		return out.Sync()
	}
	byHand := func() error {
		socket := filepath.Join(s.dir, "s-"+string(m.id))
		return exec.CommandContext(t.Context(), "sh", "-c", `"$1"/pg_basebackup -h "$2" -p "$3" -U dbop -D - -Ft `+
			`-X fetch --checkpoint=fast | zstd -q -f -3 -T2 -o "$4" && sync "$4"`, "sh", programs(t), socket,
			strconv.Itoa(m.port), file+".zst").Run()
	}
	for range 2 {
		for _, way := range []struct {
			name string
			do   func() error
		}{{"through the agent", through}, {"by hand", byHand}} {
			began := time.Now()
			if err := way.do(); err != nil {
				t.Fatal(way.name, err)
			}
			t.Logf("%s: %s", way.name, time.Since(began).Truncate(10*time.Millisecond))
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := engines.New().Unpack(t.Context(), file, filepath.Join(s.dir, "unpacked")); err != nil {
		t.Fatal(err)
	}
	unpacked := time.Since(began)
	began = time.Now()
	if err := exec.CommandContext(t.Context(), "sh", "-c", `mkdir "$2" && zstd -q -d -c "$1" | tar x -C "$2"`, "sh",
		file+".zst", filepath.Join(s.dir, "stock")).Run(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB: unpacked and compared in %s, by zstd and tar in %s", info.Size()>>20,
		unpacked.Truncate(10*time.Millisecond), time.Since(began).Truncate(10*time.Millisecond))
}
