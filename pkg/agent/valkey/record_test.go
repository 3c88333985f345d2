//go:build linux

package valkey

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// files waits until a member has complete files that reach an offset, and returns them.
func (p *place) files(end uint64) (files []logfile.File) {
	p.T.Helper()
	until := time.Now().Add(time.Minute)
	for {
		files, _ = p.log.buffer.Files()
		if n := len(files); n > 0 && files[n-1].End >= end {
			return files
		}
		if time.Now().After(until) {
			p.T.Fatalf("the files of %s are %+v, and do not reach %d", p.ID, files, end)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestRecord: both members of a pair have the same files, and the agent that reads the stream of the primary is never
// taken for the replica that must be there.
func TestRecord(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	on := protocol.Settings{Values: map[string]string{logTimeout: "1s"}}
	for _, m := range []*place{m1, m2} { // while they run
		if err := m.reload(t.Context(), on); err != nil {
			t.Fatal(err)
		}
	}
	set := protocol.SyncSet{Version: 2, Standbys: []protocol.Standby{m2.standby()}, Need: 1}
	m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set})
	m1.Wait("the stream is read", func(protocol.Server) bool {
		a, err := m1.state(t.Context())
		return err == nil && a.recorded && m1.command("CONFIG", "GET", leastReplicas) == leastReplicas+"\n2"
	})
	m1.Wait("the stream is read on and on", func(protocol.Server) bool {
		old := 0
		for line := range strings.Lines(m1.command("CLIENT", "LIST", "TYPE", "replica")) {
			_, after, _ := strings.Cut(line, " age=")
			age, _, _ := strings.Cut(after, " ")
			if n, err := strconv.Atoi(age); err == nil && n > 4 {
				old++
			}
		}
		return old == 2
	})
	m1.command("SET", "b", strings.Repeat("x", 3*logfile.Most))
	end, err := m1.end(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m2.files(end.Offset)
	first, _ := m1.log.buffer.Files()
	same := 0
	for _, f := range first {
		_, own, _, err := m1.log.buffer.Read(f.String())
		_, other, found, err2 := m2.log.buffer.Read(f.String())
		if err != nil || err2 != nil || found && !bytes.Equal(own, other) {
			t.Errorf("%s is not the same: %v, %v", f, err, err2)
		}
		if found {
			same++
		}
	}
	if same < 4 {
		t.Errorf("%d files are at both: %+v", same, first)
	}
	if err := m2.StopNow(); err != nil {
		t.Fatal(err)
	}
	m1.Wait("writes are refused without the replica", func(protocol.Server) bool {
		_, err := m1.ask(t.Context(), "SET", "c", "1")
		return err != nil && strings.Contains(err.Error(), "NOREPLICAS")
	})
	m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: protocol.SyncSet{Version: 3}})
	m1.command("SET", "c", "1")
	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	files, _ := m1.log.buffer.Files()
	if last := files[len(files)-1]; !slices.ContainsFunc(forksOf(m1.identity.Lineage), func(f logfile.Fork) bool {
		return f.History == last.History && f.Own(m1.identity.End.Offset) == last.End
	}) {
		t.Errorf("the last file ends at %s, the data at %v", last, m1.identity.End)
	}
}
