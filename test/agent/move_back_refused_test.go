package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// noWay wants a request to follow to be answered that there is no way back, and why.
func (p *pair) noWay(what, want string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer stop()
	done, err := p.old.leader().client.Follow(ctx, api.Follow{Address: p.next.way()})
	if err != nil || !strings.Contains(done.NoBack, want) {
		p.t.Errorf("%s: it is answered %q, want %q; %v", what, done.NoBack, want, err)
	}
}

// TestMoveBackRefused: nothing is followed that lacks rows, or where rows are that the other cluster lacks, and the
// answer says why. A way back that ended leaves nothing.
func TestMoveBackRefused(t *testing.T) {
	t.Parallel()
	if !torture() && !*allFlag {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	p := newPair(t, 1, 2, logical{}, logical{})
	p.noWay("before a cut over", "no cut over from this cluster prepared one")
	p.next.cutOver(api.Cutover{Back: true})
	p.more("at the later cluster")
	former := p.old.leader()
	open := func(yes bool) {
		if _, err := former.askIn("postgres", "ALTER DATABASE app ALLOW_CONNECTIONS "+strconv.FormatBool(yes)); err != nil {
			t.Fatal(err)
		}
	}
	made := func(site *site) string {
		t.Helper()
		got, err := site.leader().askIn("app", "SELECT concat_ws(' ', "+
			"(SELECT count(*) FROM pg_replication_slots WHERE database = 'app'), (SELECT count(*) FROM pg_publication), "+
			"(SELECT count(*) FROM pg_roles WHERE rolname ~ 'dbop_[0-9]'))")
		if err != nil {
			t.Fatal(err)
		}
		return got[0][0]
	}
	if got := made(p.next); got != "1 1 1" {
		t.Errorf("slots, publications and roles of the later cluster are %s", got)
	}
	if users, err := p.next.leader().client.Users(t.Context()); err != nil || len(users) != 2 {
		t.Errorf("the users of the later cluster are %v, %v", users, err)
	}
	open(true)
	p.noWay("an open database", "is open")
	open(false)
	p.noWay("a database that was open", "somebody changed the database \"app\"")
	later := p.next.leader()
	other := p.next.members[0]
	if other == later {
		other = p.next.members[1]
	}
	p.next.wait("all stream", p.next.whole)
	if err := later.client.Switchover(t.Context(), api.Switchover{Target: other.id}); err != nil {
		t.Fatal(err)
	}
	// As if nobody had touched the database.
	if _, err := former.askIn("postgres", "SET allow_system_table_mods = on; DO $$ DECLARE mark json; BEGIN "+
		"SELECT shobj_description(oid, 'pg_authid')::json INTO mark FROM pg_roles WHERE rolname = 'dbop'; "+
		"EXECUTE format('COMMENT ON ROLE dbop IS %L', jsonb_set(mark::jsonb, '{kept,closed,app}', "+
		"to_jsonb((SELECT xmin::text FROM pg_database WHERE datname = 'app')))); END $$"); err != nil {
		t.Fatal(err)
	}
	p.noWay("a failover of the later cluster", "does not keep any more what comes next")
	if err := p.next.leader().client.EndBack(t.Context()); err != nil {
		t.Error(err)
	}
	if got := made(p.next); got != "0 0 0" {
		t.Errorf("slots, publications and roles of the later cluster are %s", got)
	}
	if err := p.next.leader().client.EndBack(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	if st := former.known(); st.Server.Source != nil {
		t.Errorf("it follows %+v", st.Server.Source)
	}
	p.more("at the later cluster still")
}

// TestMoveBackUnfit: what can't be prepared is refused before anything is closed.
func TestMoveBackUnfit(t *testing.T) {
	t.Parallel()
	source := newShop(t)
	s := newSite(t, source.options(1))
	p := s.followed("the source is followed")
	writers := source.sell(1)
	defer writers.end()
	out, err := p.client.Cutover(t.Context(), api.Cutover{Back: true})
	for _, want := range []string{"no agent runs", "wal_level of this cluster is replica"} {
		if err != nil || !strings.Contains(out.NoBack, want) {
			t.Errorf("it is answered %q, want %q; %v", out.NoBack, want, err)
		}
	}
	before := writers.rows.Load()
	s.wait("the source takes writes", func() bool { return writers.rows.Load() > before })
	s.cutOver(api.Cutover{})
}

// TestMoveBackKilled kills the agents of the primaries on the way back, and the person asks again.
func TestMoveBackKilled(t *testing.T) {
	t.Parallel()
	if !torture() && !*allFlag {
		t.Skip("make torture ENGINE=postgres runs it")
	}
	for i, after := range []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			p := newPair(t, []int{1, 3}[i%2], 1, logical{}, logical{})
			cut := p.next.leader()
			asked := make(chan error, 1)
			ask := func(do func(context.Context) error) {
				ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
				defer stop()
				asked <- do(ctx)
			}
			go ask(func(ctx context.Context) error {
				_, err := cut.client.Cutover(ctx, api.Cutover{Back: true})
				return err
			})
			time.Sleep(after)
			killed := time.Now()
			cut.kill()
			t.Logf("the cut over that was cut off ended with %v", <-asked)
			cut.start()
			p.next.cutOver(api.Cutover{Back: true})
			t.Logf("it was done %s after", time.Since(killed))
			p.more("at the later cluster")
			m := p.old.leader()
			go ask(func(ctx context.Context) error {
				_, err := m.client.Follow(ctx, api.Follow{Address: p.next.way()})
				return err
			})
			time.Sleep(after)
			m.kill()
			t.Logf("the request to follow that was cut off ended with %v", <-asked)
			m.start()
			p.goBack()
			// A crash of the later cluster, whose only member comes back.
			cut.kill()
			cut.start()
			p.more("after a crash of the later cluster")
			p.old.followed("the later cluster is followed after its crash")
			p.old.cutOver(api.Cutover{})
			p.more("at the former cluster again")
			p.end()
			p.kept(p.old)
		})
	}
}

// released is PostgreSQL of one release.
type released struct {
	logical
	release release
}

func (r released) configure(m *member, configuration map[string]any) {
	configuration["postgres"] = map[string]any{"bin": r.release.programs.Path(), "listen": "127.0.0.1", "port": m.port}
}

func (r released) environment() []string {
	return append(os.Environ(), "LD_LIBRARY_PATH="+r.release.libraries)
}

// TestMoveBackMajor goes from a major version to a later one and back, with rows that were written at the later one.
func TestMoveBackMajor(t *testing.T) {
	t.Parallel()
	if os.Getenv("DBOP_FORMER") == "" {
		t.Skip("DBOP_FORMER names no trees with former versions: hack/agents.sh has them")
	}
	dir, err := os.MkdirTemp(built, "r") //nolint:usetesting // the servers' user may not enter that one
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all := (&site{t: t, dir: dir, owner: servers(t)}).releases(t)
	links, _ := filepath.Glob(filepath.Join(dir, "l*")) // the pattern is right
	for _, l := range links {
		_ = os.Chmod(l, 0o755)
	}
	later := all[len(all)-1]
	for _, former := range slices.Backward(all[:len(all)-1]) {
		t.Run(former.programs.Major+" to "+later.programs.Major, func(t *testing.T) {
			p := newPair(t, 2, 1, released{release: former}, released{release: later})
			p.next.cutOver(api.Cutover{Back: true})
			p.more("at the later cluster")
			p.goBack()
			p.more("while the former cluster follows")
			p.old.cutOver(api.Cutover{Back: true})
			p.more("at the former cluster again")
			p.end()
			p.kept(p.old)
		})
	}
}
