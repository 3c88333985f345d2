// Package agent runs clusters of agents and PostgreSQL servers as plain processes, makes trouble for them, and checks
// what clients saw.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
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
)

// built is the directory of the agent's program, and of all clusters.
var built string

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "agents")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	program := filepath.Join(dir, "dbop-agent")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/dbop-agent").CombinedOutput()
	if err != nil {
		panic(string(out))
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	code = m.Run()
}

// programs is where Debian puts PostgreSQL, or the test fails: what runs here can't be left out.
func programs(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: run hack/postgres.sh")
	}
	return filepath.Dir(found[len(found)-1])
}

// options are those of one cluster.
type options struct {
	durability protocol.Durability
	members    int
	// slow takes the default timing.
	slow bool
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
	authority *authority
	initial   []protocol.InitialMember
	settings  protocol.Settings
	members   []*member
	// spare are members that may be added later: the others know where they would be.
	spare []*member
	// gone are members that were removed.
	gone     []*member
	links    map[[2]protocol.MemberID]*link
	owner    *syscall.Credential
	uid, gid int
}

// member is a guard, and what is below it.
type member struct {
	site    *site
	id      protocol.MemberID
	listen  string
	api     string
	port    int
	relays  map[protocol.MemberID]*relay
	guard   *exec.Cmd
	ended   chan struct{}
	log     *os.File
	client  *api.Client
	initial bool
	// seed names the volume: a volume that is emptied gets another one.
	directory string
}

func newSite(t *testing.T, o options) *site {
	t.Helper()
	dir, err := os.MkdirTemp(built, "c") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir, options: o, authority: newAuthority(t), links: map[[2]protocol.MemberID]*link{}}
	s.uid, s.gid = os.Getuid(), os.Getgid()
	if s.uid == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		s.uid, _ = strconv.Atoi(u.Uid)
		s.gid, _ = strconv.Atoi(u.Gid)
		s.owner = &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid)}
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, s.uid, s.gid)); err != nil {
		t.Fatal(err)
	}
	s.settings = protocol.Settings{
		Version: 1, Timing: timing(), Durability: o.durability, Acknowledge: 1, MaxLag: 16 << 20,
		Values: map[string]string{"max_connections": "40", "shared_buffers": "16MB", "max_wal_size": "256MB"},
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
	for _, m := range s.members {
		m.start()
	}
	return s
}

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// add prepares a member, and the links between it and those before it.
func (s *site) add(id protocol.MemberID, initial bool) *member {
	ports := freePorts(s.t, 3)
	m := &member{
		site: s, id: id, listen: "127.0.0.1:" + strconv.Itoa(ports[0]), api: "127.0.0.1:" + strconv.Itoa(ports[1]),
		port: ports[2], relays: map[protocol.MemberID]*relay{}, initial: initial,
		directory: filepath.Join(s.dir, string(id)),
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
	}, s.authority.config(s.t, "tool"))
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

// configure writes the configuration of a member.
func (m *member) configure() string {
	s := m.site
	if err := os.MkdirAll(m.directory, 0o700); err != nil {
		s.t.Fatal(err)
	}
	peers := map[protocol.MemberID]string{m.id: m.listen}
	for id, r := range m.relays {
		peers[id] = r.listener.Addr().String()
	}
	identity := s.authority.files(s.t, filepath.Join(s.dir, "tls-"+string(m.id)), string(m.id))
	for _, f := range identity {
		s.own(f)
	}
	c := map[string]any{
		"member": m.id, "token": "token", "directory": m.directory, "sockets": filepath.Join(s.dir, "s-"+string(m.id)),
		"listen": m.listen, "peers": peers, "identity": identity, "ballast": 1 << 20, "settings": s.settings,
		"api": map[string]string{
			"listen": m.api, "certificate": identity["certificate"], "key": identity["key"], "authority": identity["authority"],
		},
		"postgres": map[string]any{"bin": programs(s.t), "listen": "127.0.0.1", "port": m.port},
	}
	if m.initial {
		c["initialMembers"] = s.initial
	}
	raw, err := json.MarshalIndent(c, "", " ")
	path := filepath.Join(s.dir, "config-"+string(m.id)+".json")
	if err = errors.Join(err, os.WriteFile(path, raw, 0o600)); err != nil {
		s.t.Fatal(err)
	}
	s.own(path, m.directory)
	return path
}

// start runs the guard of a member.
func (m *member) start() {
	s := m.site
	path := m.configure()
	log, err := os.OpenFile(filepath.Join(s.dir, "log-"+string(m.id)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(built, "dbop-agent"), "guard", "--config", path)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	m.guard, m.log, m.ended = cmd, log, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}(m.ended)
}

// processes are those of a member: the guard, the agent, and the others.
func (m *member) processes() (guard, agent int, others []int) {
	if m.guard == nil {
		return 0, 0, nil
	}
	all := below(m.guard.Process.Pid)
	for _, pid := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(line), "dbop-agent\x00run") {
			agent = pid
		} else {
			others = append(others, pid)
		}
	}
	return m.guard.Process.Pid, agent, others
}

// postmaster is the first process of the server, or 0.
func (m *member) postmaster() int {
	raw, err := os.ReadFile(filepath.Join(m.directory, "data", "pgdata", "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, _ := strconv.Atoi(line)
	if syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

// signal sends a signal to every process of a member.
func (m *member) signal(sig syscall.Signal) {
	guard, agent, others := m.processes()
	for _, pid := range append([]int{guard, agent}, others...) {
		if pid > 0 {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// kill ends every process of a member at once, as a crash of its machine does.
func (m *member) kill() {
	if m.guard == nil {
		return
	}
	for {
		guard, agent, others := m.processes()
		all := append([]int{guard, agent}, others...)
		for _, pid := range all {
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		// Who lost its parent is no longer below the guard: it works in the data directory.
		left := 0
		for _, pid := range working(m.directory) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			left++
		}
		select {
		case <-m.ended:
			if left == 0 {
				m.guard = nil
				_ = m.log.Close()
				return
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop asks the guard to end, as Kubernetes does, and waits for it.
func (m *member) stop() {
	_ = m.guard.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-time.After(time.Minute):
		m.site.t.Errorf("%s does not end", m.id)
	}
	m.kill()
}

func (s *site) end() {
	for _, m := range slices.Concat(s.members, s.spare, s.gone) {
		m.kill()
		for _, r := range m.relays {
			r.close()
		}
		m.client.Close()
	}
	if s.t.Failed() || os.Getenv("DBOP_AGENT_LOGS") != "" {
		for _, m := range s.members {
			s.t.Logf("log of %s:\n%s", m.id, m.lastWords())
		}
	}
}

// lastWords are what the agent of a member said, without its server.
func (m *member) lastWords() string {
	raw, _ := os.ReadFile(filepath.Join(m.site.dir, "log-"+string(m.id)))
	if keep := os.Getenv("DBOP_AGENT_LOGS"); keep != "" {
		_ = os.MkdirAll(keep, 0o755)
		_ = os.WriteFile(filepath.Join(keep, filepath.Base(m.site.dir)+"-"+string(m.id)), raw, 0o644)
	}
	var kept []string
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, " agent ") || strings.HasPrefix(line, "guard:") || strings.HasPrefix(line, "panic") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[max(0, len(kept)-40):], "")
}

// status asks one member, or returns nil.
func (m *member) status() *api.Status {
	ctx, stop := context.WithTimeout(m.site.t.Context(), time.Second)
	defer stop()
	st, err := m.client.Status(ctx)
	if err != nil {
		return nil
	}
	return &st
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

// wait polls until something holds, and says how long that took.
func (s *site) wait(what string, holds func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for !holds() {
		if time.Since(began) > 90*time.Second {
			s.t.Fatalf("waited in vain: %s\n%s", what, s.describe())
		}
		time.Sleep(20 * time.Millisecond)
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
		fmt.Fprintf(&b, "%s: generation %d %s of %s, leader %s, blocked %q, set %v changing %t, reports %v; server %+v\n",
			m.id, st.Generation, st.Phase, st.Primary, st.Leader, st.Blocked, st.Set, st.Changing, st.Reports, st.Server)
	}
	return b.String()
}

// below returns the processes below one.
func below(of int) (all []int) {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		all = append(all, pid)
	}
	return all
}

// working returns the processes whose working directory lies below one.
func working(in string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && strings.HasPrefix(cwd, in+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// copyTree copies a volume while nothing runs on it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("copy %s: %v: %s", from, err, out)
	}
}
