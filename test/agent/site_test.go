// Package agent runs clusters of agents and database servers as plain processes, makes trouble for them, and checks
// what clients saw.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/test/port"
)

// options are those of one cluster.
type options struct {
	durability protocol.Durability
	members    int
	// slow takes the default timing.
	slow bool
	// proxied has the clients write through the agents.
	proxied bool
	// small, if it is set, gives each member a volume of so many bytes.
	small int
	// disks gives each member a volume whose writes can be made to hang.
	disks bool
	// pipelined has clients send rows ahead of the answers, too.
	pipelined bool
	// clocks has each member have clocks of its own.
	clocks bool
	// boots has guard and agent read a boot clock that the test sets.
	boots bool
	// engine is PostgreSQL unless another one is named.
	engine engine
	// source is a server that the cluster is to follow, sourceSecret a directory with what that asks for.
	source       *protocol.Source
	sourceSecret string
}

// timing has short times, so that many failovers fit into a minute.
func timing() protocol.Timing {
	t := protocol.DefaultTiming()
	t.Election, t.Renewal, t.Agreement = 500*time.Millisecond, 400*time.Millisecond, 300*time.Millisecond
	t.ElectionBound, t.Lease, t.Stop = 1500*time.Millisecond, 4*time.Second, 1500*time.Millisecond
	t.ProbeAge = 6 * time.Second
	return t
}

// site is one cluster.
type site struct {
	t         *testing.T
	dir       string
	options   options
	engine    engine
	authority *authority
	// front signs what agents show to the tool, and the tool to them: with it the time counts.
	front    *authority
	initial  []protocol.InitialMember
	settings protocol.Settings
	members  []*member
	// spare are members that may be added later: the others know where they would be.
	spare []*member
	// gone are members that were removed.
	gone     []*member
	links    map[[2]protocol.MemberID]*link
	owner    *syscall.Credential
	uid, gid int
}

func newSite(t *testing.T, o options) *site {
	t.Helper()
	dir, err := os.MkdirTemp(built, "c") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		t: t, dir: dir, options: o, engine: o.engine, authority: newAuthority(t, day),
		links: map[[2]protocol.MemberID]*link{},
	}
	if s.front = s.authority; o.clocks {
		s.front = newAuthority(t, 60*year)
	}
	if s.engine == nil {
		s.engine = postgres{}
	}
	s.uid, s.gid = os.Getuid(), os.Getgid()
	if s.owner = servers(t); s.owner != nil {
		s.uid, s.gid = int(s.owner.Uid), int(s.owner.Gid)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, s.uid, s.gid)); err != nil {
		t.Fatal(err)
	}
	s.settings = protocol.Settings{
		Version: 1, Timing: timing(), Durability: o.durability, Acknowledge: 1, MaxLag: 16 << 20,
		Values: s.engine.values(),
	}
	if o.slow {
		s.settings.Timing = protocol.DefaultTiming()
	}
	for i := range o.members {
		id := protocol.MemberID("m" + strconv.Itoa(i+1))
		s.initial = append(s.initial, protocol.InitialMember{ID: id})
		s.members = append(s.members, s.add(id, true))
	}
	for i := range 2 {
		s.spare = append(s.spare, s.add(protocol.MemberID("m"+strconv.Itoa(o.members+i+1)), false))
	}
	t.Cleanup(s.end)
	if o.small > 0 || o.disks {
		s.mount()
	}
	for _, m := range s.members {
		m.start()
	}
	return s
}

// servers is the user who runs servers, or nil for the one who runs the tests: PostgreSQL does not run as root.
func servers(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// mount gives each member a small volume in memory, or one on a disk of its own.
func (s *site) mount() {
	for _, m := range s.members {
		var err error
		if s.options.disks {
			err = m.disk()
		} else if err = os.Mkdir(m.directory, 0o700); err == nil {
			err = syscall.Mount("tmpfs", m.directory, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(s.options.small))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// unmount takes the volumes away.
func (s *site) unmount() {
	for _, m := range s.members {
		if err := syscall.Unmount(m.directory, syscall.MNT_DETACH); err != nil {
			s.t.Error(err)
		}
	}
}

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		ports = append(ports, port.Free(t))
	}
	return ports
}

// add prepares a member, and the links between it and those before it.
func (s *site) add(id protocol.MemberID, initial bool) *member {
	ports := freePorts(s.t, 7)
	m := &member{
		site: s, id: id, listen: "127.0.0.1:" + strconv.Itoa(ports[0]), api: "127.0.0.1:" + strconv.Itoa(ports[1]),
		port: ports[2], relays: map[protocol.MemberID]*relay{}, initial: initial,
		directory: filepath.Join(s.dir, string(id)), health: "127.0.0.1:" + strconv.Itoa(ports[3]),
		clients: ports[4], readers: ports[5], sentinel: ports[6],
	}
	for _, o := range slices.Concat(s.members, s.spare) {
		there, back := newLink(), newLink()
		s.links[[2]protocol.MemberID{m.id, o.id}], s.links[[2]protocol.MemberID{o.id, m.id}] = there, back
		var err1, err2 error
		m.relays[o.id], err1 = newRelay(o.listen, there, back)
		o.relays[m.id], err2 = newRelay(m.listen, back, there)
		if err := errors.Join(err1, err2); err != nil {
			s.t.Fatal(err)
		}
	}
	m.client = api.NewClient(id, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", m.api)
	}, s.front.config(s.t, "tool"))
	switch path := filepath.Join(s.dir, "clock-"+string(id)); {
	case s.options.clocks:
		m.clock = newClock(s.t, path, clockPrograms)
	case s.options.boots:
		m.clock = newClock(s.t, path, bootPrograms)
	}
	return m
}

// own gives files to the user of the servers.
func (s *site) own(paths ...string) {
	for _, p := range paths {
		if err := os.Chown(p, s.uid, s.gid); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *site) end() {
	for _, m := range slices.Concat(s.members, s.spare, s.gone) {
		m.kill()
		for _, r := range m.relays {
			r.close()
		}
		m.client.Close()
	}
	if s.options.small > 0 || s.options.disks {
		s.unmount()
	}
	if s.t.Failed() || os.Getenv("DBOP_AGENT_LOGS") != "" {
		for _, m := range s.members {
			s.t.Logf("log of %s:\n%s", m.id, m.lastWords())
		}
	}
	_ = os.RemoveAll(s.dir) // what a process that ends still writes goes with the directory of all clusters
}

// primary returns who says that it serves, or nil.
func (s *site) primary() *member {
	for _, m := range s.members {
		if st := m.status(); st != nil && st.Server.Serving {
			return m
		}
	}
	return nil
}

// awaitPrimary returns who serves. Between two of them, or on a busy machine, it may be that nobody says so.
func (s *site) awaitPrimary() (p *member) {
	s.t.Helper()
	s.wait("a primary", func() bool {
		p = s.primary()
		return p != nil
	})
	return p
}

// wait polls until something holds, and says how long that took.
func (s *site) wait(what string, holds func() bool) time.Duration {
	s.t.Helper()
	return s.waitWithin(90*time.Second, what, holds)
}

func (s *site) waitWithin(most time.Duration, what string, holds func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > most {
			s.t.Fatalf("waited in vain: %s\n%s", what, s.describe())
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(began)
}

func (s *site) describe() string {
	var b strings.Builder
	for _, m := range s.members {
		st := m.status()
		if st == nil {
			fmt.Fprintf(&b, "%s does not answer\n", m.id)
			continue
		}
		fmt.Fprintf(&b, "%s: generation %d %s of %s, leader %s, blocked %q, set %v changing %t, reports %v; server %+v; "+
			"source %+v\n", m.id, st.Generation, st.Phase, st.Primary, st.Leader, st.Blocked, st.Set, st.Changing, st.Reports,
			st.Server, st.Server.Source)
	}
	return b.String()
}
