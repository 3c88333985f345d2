//go:build linux

package postgres

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// TestTellSlots: a slot is worth a warning once it endangers its reader or the volume.
func TestTellSlots(t *testing.T) {
	t.Parallel()
	const volume = 1000 << 20
	for name, c := range map[string]struct {
		slot   slot
		volume int64
		detail string
		warns  string
	}{
		"read":                 {slot{"feed", true, "extended", 400 << 20}, volume, "feed 400Mi", ""},
		"not read, and little": {slot{"feed", false, "reserved", 100 << 20}, volume, "feed 100Mi", ""},
		"not read, and much": {slot{"it's", false, "reserved", 110 << 20}, volume, "it's 110Mi",
			`nobody reads the slot "it's", and it keeps 110Mi of the log, 11% of the volume; have it read, or SELECT ` +
				`pg_drop_replication_slot(E'it\'s') lets the log go`},
		"a volume that is not known": {slot{"feed", false, "reserved", 110 << 20}, 0, "feed 110Mi", ""},
		"about to be lost": {slot{"feed", true, "unreserved", 70 << 20}, volume, "feed 70Mi",
			"at the next checkpoint"},
		"lost": {slot{"feed", false, "lost", 0}, volume, "feed lost", "must copy everything again"},
	} {
		var m api.Measures
		tellSlots(&m, []slot{c.slot}, c.volume)
		if got := strings.Join(m.Warnings, "\n"); !strings.Contains(got, c.warns) || c.warns == "" && got != "" {
			t.Errorf("%s: it warns of %q, want %q", name, got, c.warns)
		}
		if len(m.Details) != 1 || m.Details[0].Value != c.detail {
			t.Errorf("%s: details %+v, want %q", name, m.Details, c.detail)
		}
	}
	var none api.Measures
	if tellSlots(&none, nil, volume); len(none.Details) > 0 {
		t.Errorf("without a slot: %+v", none)
	}
}

// TestMeasureSlots: what slots keep is asked of the server.
func TestMeasureSlots(t *testing.T) {
	t.Parallel()
	m := logical(t)
	m.sql("SELECT pg_create_logical_replication_slot('feed', 'pgoutput'), " +
		"pg_create_physical_replication_slot('standby', true), pg_create_physical_replication_slot('idle')")
	m.sql("CREATE TABLE bulk AS SELECT repeat('x', 1000) FROM generate_series(1, 3000)")
	got, err := m.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := detail(got, "slots")
	for _, want := range []string{"feed 3Mi", "idle 0Mi", "standby 3Mi"} {
		if !strings.Contains(all, want) {
			t.Errorf("slots are %q, want %q", all, want)
		}
	}
}
