package bucket

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// TestDrillLog: the key is tried on the newest pieces of a log that goes on from a backup, too.
func TestDrillLog(t *testing.T) {
	dir := t.TempDir()
	d, s := described(t)
	second, recipient, err := archive.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	both := d
	both.Recipients = append([]string{recipient}, d.Recipients...)
	scope := archive.Scope{Namespace: "shop", Cluster: "db"}
	add := func(with Description, n int) {
		log := inDirectory(t, dir, with, s).Archive().Log(scope, "1")
		if err := log.Append(t.Context(), archive.Segment{Timeline: "1", Name: fmt.Sprintf("%08d", n),
			Start: strconv.Itoa(n), End: strconv.Itoa(n + 1), Time: time.Unix(int64(1000+n), 0)}, []byte("piece")); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6 {
		add(d, n)
	}
	for n := range 2 {
		add(both, 6+n)
	}
	entries := []archive.Entry{{Scope: scope, Incarnation: "1", Log: &archive.LogStart{Timeline: "1"}},
		{Scope: scope, Incarnation: "1", Log: &archive.LogStart{Timeline: "1"}}, {Scope: scope, Incarnation: "2"}}
	for name, row := range map[string]struct {
		identity string
		want     Drill
	}{
		"the first key": {string(s[FileIdentity]), Drill{LogRead: 4, LogTried: 4}},
		"a later key":   {second, Drill{LogRead: 2, LogTried: 4, LogLost: "00000005"}},
	} {
		var got Drill
		tried := inDirectory(t, dir, both, Secrets{FileIdentity: []byte(row.identity)}).Archive()
		if err := drillLogs(t.Context(), tried, entries, &got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
