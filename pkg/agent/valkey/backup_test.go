//go:build linux

package valkey

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engine "github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey"
)

// backups is the engine of the server that is tested.
func backups() *engine.Engine {
	if strings.HasPrefix(*which, "redis") {
		return engine.NewRedis()
	}
	return engine.New()
}

// TestBackup: a copy that is made while clients write is whole, other people's program agrees, and a database that is
// made of it holds what was written before.
func TestBackup(t *testing.T) {
	t.Parallel()
	s, m1, m2 := pair(t)
	for i := range 500 {
		m1.command("SET", "before"+strconv.Itoa(i), strings.Repeat("x", 2000))
	}
	m1.command("SELECT", "5")
	m2.reaches(m1)
	file := filepath.Join(t.TempDir(), "dump.rdb")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	check := backups().CheckStream()
	if err := m2.Copy(t.Context(), io.MultiWriter(out, check)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(check.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	checker := strings.Replace(m1.Program, "-server", "-check-rdb", 1)
	if said, err := exec.Command(checker, file).CombinedOutput(); err != nil {
		t.Errorf("the server's own program refuses the copy: %v: %s", err, said)
	}
	m1.command("SET", "after", "1")
	m1.Wait("m2 streams on", func(o protocol.Server) bool { return len(o.Standbys) == 1 })

	facts, err := backups().OpenSnapshot(file, true)
	if err != nil || facts.Proof == "" {
		t.Fatalf("the copy is %+v, %v", facts, err)
	}
	data := filepath.Join(s.Member("m3").Directory(), "data")
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := backups().Unpack(t.Context(), file, data); err != nil {
		t.Fatal(err)
	}
	m3 := s.open("m3")
	if o := m3.Observe(t.Context()); o.System == "" || o.System == m1.identity.System || o.Unread || o.Unfit != "" {
		t.Fatalf("the member that was loaded is %+v", o)
	}
	if _, err := m3.Contents(t.Context()); err == nil {
		t.Error("data has a proof that no server has read")
	}
	m3.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m3.Serve(1, 2, protocol.SyncSet{Version: 1})
	if got := m3.command("GET", "before499") + m3.command("GET", "after"); got != strings.Repeat("x", 2000) {
		t.Errorf("it holds %q", got)
	}
	if c, err := m3.Contents(t.Context()); err != nil || c.Proof != string(facts.Proof) {
		t.Errorf("it proves %q, and the backup %q: %v", c.Proof, facts.Proof, err)
	}
	m3.command("SET", "more", "1")
	m3.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	m3.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	m3.Serve(2, 3, protocol.SyncSet{Version: 1})
	if got := m3.command("DBSIZE"); got != "502" { // with the one of pair
		t.Errorf("after another start it holds %s keys", got)
	}
	if c, err := m1.Contents(t.Context()); err != nil || c.Proof != "" {
		t.Errorf("data of no backup proves %q: %v", c.Proof, err)
	}
}

// TestBackupEnds: a copy that nobody takes ends, and so does one of a server that is killed.
func TestBackupEnds(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	for i := range 200 { // nothing that a server makes shorter: the sockets must not hold all of the copy
		value := make([]byte, 25_000)
		_, _ = rand.Read(value)
		m1.command("SET", "k"+strconv.Itoa(i), hex.EncodeToString(value))
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := m1.Copy(ctx, writer(func([]byte) error { stop(); return nil })); !errors.Is(err, context.Canceled) {
		t.Errorf("a copy that was given up: %v", err)
	}
	full := errors.New("full")
	if err := m1.Copy(t.Context(), writer(func([]byte) error { return full })); !errors.Is(err, full) {
		t.Errorf("a copy that nobody takes: %v", err)
	}
	var got bytes.Buffer
	check := backups().CheckStream()
	err := m1.Copy(t.Context(), io.MultiWriter(&got, check, writer(func([]byte) error {
		_ = m1.StopNow()
		time.Sleep(100 * time.Millisecond)
		return nil
	})))
	if err == nil {
		t.Error("a copy of a server that was killed is whole")
	}
	if check.Close() == nil {
		t.Error("half a copy passes the check")
	}
}

type writer func([]byte) error

func (w writer) Write(p []byte) (int, error) { return len(p), w(p) }
