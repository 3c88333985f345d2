//go:build linux

package postgres

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestPrimarySince: the time of the last failover or switchover is that of the promotion, and a replica has none.
func TestPrimarySince(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	since := func(p *place) string {
		t.Helper()
		got, err := p.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return detail(got, "primary since")
	}
	if got := since(m2); got != "" {
		t.Errorf("a replica leads since %s", got)
	}
	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	m1.Serving = 0
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	before := time.Now().Add(-2 * time.Second) // a file system may round
	m2.Serve(2, 3, protocol.SyncSet{Version: 3})
	at, err := time.Parse(time.RFC3339, since(m2))
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("it leads since %s, and was promoted after %s: %v", at, before, err)
	}
}

// detail returns the value of one of them, "" for none.
func detail(m api.Measures, name string) string {
	for _, d := range m.Details {
		if d.Name == name {
			return d.Value
		}
	}
	return ""
}
