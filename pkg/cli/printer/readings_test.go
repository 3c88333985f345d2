package printer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func TestReadings(t *testing.T) {
	t.Parallel()
	etcd := []engine.Reading{{Name: "revision", Value: "42"}, {Name: "keys", Value: "7"}}
	postgres := []engine.Reading{{Name: "timeline", Value: "3"}, {Name: "oldest segment", Value: "0/1"},
		{Name: "keys", Value: "9"}}
	var r Readings
	if len(r.Columns()) != 0 || len(r.Row(etcd)) != 0 {
		t.Error("a table without rows has columns of an engine")
	}
	r.Add(etcd)
	r.Add(postgres)
	r.Add(etcd)
	if diff := cmp.Diff([]string{"REVISION", "KEYS", "TIMELINE", "OLDEST-SEGMENT"}, r.Columns()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"42", "7", "", ""}, r.Row(etcd)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "9", "3", "0/1"}, r.Row(postgres)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"", "", "", ""}, r.Row(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestReadingsInBetween(t *testing.T) {
	t.Parallel()
	primary := []engine.Reading{{Name: "sync"}, {Name: "connections"}, {Name: "log"}}
	replica := []engine.Reading{{Name: "sync"}, {Name: "behind"}, {Name: "connections"}, {Name: "log"}}
	for _, rows := range [][][]engine.Reading{{primary, replica}, {replica, primary}} {
		var r Readings
		for _, row := range rows {
			r.Add(row)
		}
		if diff := cmp.Diff([]string{"SYNC", "BEHIND", "CONNECTIONS", "LOG"}, r.Columns()); diff != "" {
			t.Error(diff)
		}
	}
}
