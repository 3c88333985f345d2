package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// member is a guard, and what is below it.
type member struct {
	site   *site
	id     protocol.MemberID
	listen string
	api    string
	health string
	port   int
	// clients and readers are the ports of the agent for clients.
	clients, readers int
	// sentinel is its port for clients that know Sentinel, where the engine has them.
	sentinel int
	relays   map[protocol.MemberID]*relay
	guard    *exec.Cmd
	ended    chan struct{}
	log      *os.File
	client   *api.Client
	initial  bool
	// token is that of its incarnation, "token" if it is empty.
	token string
	// clock is what its processes take for the time; nil for that of the machine.
	clock *clock
	// seed names the volume: a volume that is emptied gets another one.
	directory string
}

// configure writes the configuration of a member.
func (m *member) configure() string {
	s := m.site
	if err := os.MkdirAll(m.directory, 0o700); err != nil {
		s.t.Fatal(err)
	}
	peers, servers := map[protocol.MemberID]string{m.id: m.listen}, map[protocol.MemberID]string{}
	for _, o := range slices.Concat(s.members, s.spare) {
		servers[o.id] = "127.0.0.1:" + strconv.Itoa(o.port)
	}
	for id, r := range m.relays {
		peers[id] = r.listener.Addr().String()
	}
	identity := s.authority.files(s.t, filepath.Join(s.dir, "tls-"+string(m.id)), string(m.id))
	for _, f := range identity {
		s.own(f)
	}
	front := identity
	if s.front != s.authority {
		front = s.front.files(s.t, filepath.Join(s.dir, "api-"+string(m.id)), string(m.id))
		for _, f := range front {
			s.own(f)
		}
	}
	c := map[string]any{
		"member": m.id, "token": cmp.Or(m.token, "token"), "directory": m.directory,
		"sockets": filepath.Join(s.dir, "s-"+string(m.id)),
		"listen":  m.listen, "peers": peers, "identity": identity, "ballast": 4 << 20, "settings": s.settings,
		"api": map[string]string{
			"listen": m.api, "certificate": front["certificate"], "key": front["key"], "authority": front["authority"],
		},
		"health": map[string]string{"listen": m.health},
		"proxy": map[string]any{
			"listen":   "127.0.0.1:" + strconv.Itoa(m.clients),
			"readOnly": "127.0.0.1:" + strconv.Itoa(m.readers), "peers": servers,
		},
	}
	s.engine.configure(m, c)
	if s.options.source != nil {
		c["source"], c["sourceSecret"] = s.options.source, s.options.sourceSecret
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
	program := filepath.Join(built, "dbop-agent")
	if m.clock != nil {
		program = m.clock.agent
	}
	cmd := exec.Command(program, "guard", "--config", path)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	if e, is := s.engine.(interface{ environment() []string }); is {
		cmd.Env = e.environment()
	}
	if m.clock != nil {
		cmd.Env = append(cmd.Environ(), m.clock.environment()...)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	m.guard, m.log, m.ended = cmd, log, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}(m.ended)
}

// probe asks as the kubelet does, and returns why the answer is not 200, or "".
func (m *member) probe(path string) string {
	r, err := http.Get("http://" + m.health + path)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	if r.StatusCode == http.StatusOK {
		return ""
	}
	return strings.TrimSpace(string(body))
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

// clientPort is where clients connect to: the server, or its agent.
func (m *member) clientPort() int {
	if m.site.options.proxied {
		return m.clients
	}
	return m.port
}

// first is the first process of the server, or 0.
func (m *member) first() int { return m.site.engine.first(m) }

// agent is the process of the agent, or 0.
func (m *member) agent() int {
	_, agent, _ := m.processes()
	return agent
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

// lastWords are what the agent of a member said, without its server.
func (m *member) lastWords() string {
	raw, _ := os.ReadFile(filepath.Join(m.site.dir, "log-"+string(m.id)))
	if keep := os.Getenv("DBOP_AGENT_LOGS"); keep != "" {
		_ = os.MkdirAll(keep, 0o755)
		_ = os.WriteFile(filepath.Join(keep, filepath.Base(m.site.dir)+"-"+string(m.id)), raw, 0o644)
	}
	var kept []string
	for line := range strings.Lines(string(raw)) {
		begins := func(with string) bool { return strings.HasPrefix(line, with) }
		if strings.Contains(line, " agent ") || begins("guard:") || begins("panic") || begins("error:") {
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

// known asks one member until it answers: on a busy machine one question may take too long.
func (m *member) known() (st *api.Status) {
	m.site.t.Helper()
	m.site.wait("an answer of "+string(m.id), func() bool {
		st = m.status()
		return st != nil
	})
	return st
}

// leads says that a member serves in a generation, and so that it led all the time since it served in it before.
func (m *member) leads(generation protocol.Generation) bool {
	st := m.known()
	return st.Generation == generation && st.Server.Serving
}
