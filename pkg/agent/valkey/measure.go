//go:build linux

package valkey

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
)

// fullMemory is the share of the limit from which memory is worth a warning, if nothing is evicted; manyFragments is
// how much more than it uses a server may hold, and fragmentsFrom the size from which that counts.
const (
	fullMemory    = 0.9
	manyFragments = 1.5
	fragmentsFrom = 256 << 20
)

// Measure implements api.Meter.
func (s *Server) Measure(ctx context.Context) (api.Measures, error) {
	text, err := s.ask(ctx, "INFO")
	if err != nil {
		return api.Measures{}, err
	}
	m := measuresFrom(infoFields(text))
	m.DataBytes = appendonly.Size(s.data())
	s.measureLog(&m)
	slow, err := s.ask(ctx, "SLOWLOG", "LEN")
	if n, _ := strconv.Atoi(slow); err == nil && n > 0 {
		m.Readings = append(m.Readings, api.Reading{Name: "slow log", Value: slow})
	}
	return m, nil
}

// measuresFrom puts what INFO tells in words.
func measuresFrom(all map[string]string) (m api.Measures) {
	n := func(name string) int64 {
		v, _ := strconv.ParseInt(all[name], 10, 64) // what is not there is 0
		return v
	}
	tell := func(name, value string) { m.Readings = append(m.Readings, api.Reading{Name: name, Value: value}) }
	warn := func(format string, args ...any) { m.Warnings = append(m.Warnings, fmt.Sprintf(format, args...)) }

	memory, limit := n("used_memory"), n("maxmemory")
	policy := all["maxmemory_policy"]
	if limit > 0 {
		tell("memory", fmt.Sprintf("%dMi/%dMi %s", memory>>20, limit>>20, policy))
		if policy == "noeviction" && float64(memory) >= fullMemory*float64(limit) {
			warn("%d%% of maxmemory is used, and nothing is evicted: writes are refused once it is full", 100*memory/limit)
		}
	} else {
		tell("memory", fmt.Sprintf("%dMi", memory>>20))
	}
	if resident := n("used_memory_rss"); memory > fragmentsFrom && float64(resident) > manyFragments*float64(memory) {
		warn("it holds %d%% of the memory that it uses: activedefrag gives some of it back", 100*resident/memory)
	}
	tell("clients", all["connected_clients"]+"/"+all["maxclients"])
	if rejected := n("rejected_connections"); rejected > 0 {
		warn("it rejected %d connections since its start: maxclients is %s", rejected, all["maxclients"])
	}
	persistence := "ok"
	switch {
	case all["aof_last_write_status"] == "err":
		persistence = "write failed"
		warn("the last write to the append-only file failed: writes are refused, and the volume may be full")
	case all["aof_last_bgrewrite_status"] == "err":
		persistence = "rewrite failed"
		warn("the last rewrite of the append-only file failed: the file grows, and memory or the volume may be short")
	case n("aof_rewrite_in_progress") > 0:
		persistence = "rewrites"
	case n("rdb_bgsave_in_progress") > 0:
		persistence = "copies for a replica"
	}
	tell("persistence", persistence)
	if fork := n("latest_fork_usec"); fork > 0 {
		tell("last fork", (time.Duration(fork) * time.Microsecond).Round(time.Millisecond).String())
	}
	return m
}
