//go:build linux

package valkey

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

func TestMeasuresFrom(t *testing.T) {
	t.Parallel()
	const rest = "connected_clients:2\r\nmaxclients:100\r\naof_last_write_status:ok\r\naof_last_bgrewrite_status:ok\r\n"
	reading := func(all ...string) (out []api.Reading) {
		for i := 0; i < len(all); i += 2 {
			out = append(out, api.Reading{Name: all[i], Value: all[i+1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		info     string
		readings []api.Reading
		warnings []string
	}{
		"at rest": {"# Memory\r\nused_memory:3145728\r\nmaxmemory:0\r\n" + rest,
			reading("memory", "3Mi", "clients", "2/100", "persistence", "ok"), nil},
		"a limit": {"used_memory:52428800\r\nmaxmemory:52428800\r\nmaxmemory_policy:allkeys-lru\r\n" +
			"latest_fork_usec:2100\r\n" + rest, reading("memory", "50Mi/50Mi allkeys-lru", "clients", "2/100",
			"persistence", "ok", "last fork", "2ms"), nil},
		"full": {"used_memory:52428800\r\nmaxmemory:52428800\r\nmaxmemory_policy:noeviction\r\n" + rest,
			reading("memory", "50Mi/50Mi noeviction", "clients", "2/100", "persistence", "ok"), []string{
				"100% of maxmemory is used, and nothing is evicted: writes are refused once it is full"}},
		"fragments": {"used_memory:536870912\r\nused_memory_rss:1073741824\r\n" + rest,
			reading("memory", "512Mi", "clients", "2/100", "persistence", "ok"), []string{
				"it holds 200% of the memory that it uses: activedefrag gives some of it back"}},
		"a full disk": {"aof_last_write_status:err\r\nconnected_clients:1\r\nmaxclients:1\r\nrejected_connections:4\r\n",
			reading("memory", "0Mi", "clients", "1/1", "persistence", "write failed"), []string{
				"it rejected 4 connections since its start: maxclients is 1",
				"the last write to the append-only file failed: writes are refused, and the volume may be full"}},
		"rewrites": {"aof_rewrite_in_progress:1\r\n" + rest,
			reading("memory", "0Mi", "clients", "2/100", "persistence", "rewrites"), nil},
	} {
		if diff := cmp.Diff(api.Measures{Readings: c.readings, Warnings: c.warnings},
			measuresFrom(infoFields(c.info))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestMeasure: every server tells what people want to know.
func TestMeasure(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	for _, p := range []*place{m1, m2} {
		m, err := p.Measure(t.Context())
		if err != nil || m.DataBytes == 0 || len(m.Warnings) > 0 || len(m.Readings) < 3 || m.Readings[2].Value != "ok" {
			t.Errorf("%s: %+v, %v", p.ID, m, err)
		}
	}
}
