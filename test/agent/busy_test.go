package agent

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

var busyFlag = flag.Duration("busy", 0, "keep two clusters busy for so long, and count failovers")

const (
	busyTime    = time.Hour
	busyRound   = "20"
	busyClients = "16"
)

// TestBusy has pgbench write to two clusters on one disk, as fast as they take it: no primary may be replaced, as none
// is lost. It runs for an hour where DBOP_TORTURE is all, and for as long as -busy says.
func TestBusy(t *testing.T) {
	lasts := *busyFlag
	if lasts == 0 && torture() {
		lasts = busyTime
	}
	if lasts == 0 {
		t.Skip("-busy is not set")
	}
	var sites []*site
	generations := map[*site]protocol.Generation{}
	for range 2 {
		s := newSite(t, options{durability: protocol.Strict, members: 3, slow: true})
		p := s.awaitPrimary()
		if err := s.engine.prepare(p); err != nil {
			t.Fatal(err)
		}
		if _, err := p.ask("dbop", time.Minute, "GRANT ALL ON SCHEMA public TO app"); err != nil {
			t.Fatal(err)
		}
		s.pgbench(p.port, "-i", "-q", "-s", "20")
		s.wait("all stream", s.whole)
		sites, generations[s] = append(sites, s), p.known().Generation
	}
	began := time.Now()
	var wg sync.WaitGroup
	for i, s := range sites {
		wg.Go(func() {
			rounds, sum, p := 0, 0.0, s.primary()
			for ; time.Since(began) < lasts && !t.Failed(); rounds++ {
				sum += s.pgbench(p.port, "-n", "-btpcb-like", "-c", busyClients, "-j", "1", "-T", busyRound)
			}
			t.Logf("cluster %d: %.0f transactions a second", i+1, sum/float64(rounds))
		})
	}
	wg.Wait()
	for i, s := range sites {
		for _, m := range s.members {
			if now := m.known().Generation; now != generations[s] {
				t.Errorf("%s of cluster %d knows of primary number %d, it was number %d", m.id, i+1, now, generations[s])
			}
		}
	}
	t.Logf("%s at full load are over", time.Since(began).Truncate(time.Second))
}
