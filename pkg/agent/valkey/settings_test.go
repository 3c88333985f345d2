//go:build linux

package valkey

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestCheckValues(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	for _, c := range []struct{ name, value, refused string }{
		{"maxmemory", "50mb", ""},
		{"MaxMemory-Policy", "allkeys-lru", ""},
		{"appendfsync", "always", ""},
		{"client-output-buffer-limit", "replica 256mb 64mb 60", ""},
		{"appendonly", "no", "belongs to the agent"},
		{"replicaof", "x 1", "belongs to the agent"},
		{"maxmemory", "lots", "must be a memory value"},
		{"databases", "none", "databases"},
		{"no-such-setting", "1", "refuses the settings"},
		{"maxmemory 1\nreplicaof", "x", "is no name"},
		{"maxmemory", "1\nreplicaof x 1", "refuses the settings"},
	} {
		err := m1.CheckValues(t.Context(), map[string]string{c.name: c.value})
		if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s %s: %v", c.name, c.value, err)
		}
	}
	m1.Must(protocol.Job{Kind: protocol.Reload, Settings: protocol.Settings{
		Version: 7, Values: map[string]string{"databases": "20", "maxmemory": "50mb"},
	}})
	if got, _ := m1.Pending(); len(got) != 1 || got[0] != "databases" {
		t.Errorf("these wait for a restart: %v", got)
	}
	if got := m1.command("CONFIG", "GET", "maxmemory"); !strings.HasSuffix(got, "52428800") {
		t.Errorf("the setting is %q", got)
	}
	if got := m1.command("CONFIG", "GET", "repl-backlog-size"); !strings.HasSuffix(got, "6553600") {
		t.Errorf("what is kept for replicas is %q", got)
	}
}
