package agent

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/valkey"
)

var serverFlag = flag.String("server", "valkey-8", "the Valkey or Redis to run, of those that hack/valkey.sh fetched")

// valkey is the engine Valkey or Redis.
type valkey struct{}

func (valkey) configure(m *member, configuration map[string]any) {
	t := m.site.t
	found, _ := filepath.Glob("/var/cache/dbop-valkey/" + *serverFlag + "/*-server")
	if len(found) == 0 {
		t.Fatalf("%s is not there: run hack/valkey.sh", *serverFlag)
	}
	sum := sha256.Sum256([]byte(password))
	users := filepath.Join(m.site.dir, "users.acl")
	rules := "user app on #" + hex.EncodeToString(sum[:]) + " ~* &* +@all\n"
	if err := os.WriteFile(users, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	m.site.own(users)
	server := map[string]any{"program": found[0], "listen": "127.0.0.1", "port": m.port, "users": users}
	if m.site.options.proxied { // then clients speak TLS as well
		identity := configuration["identity"].(map[string]string)
		server["certificate"], server["key"] = identity["certificate"], identity["key"]
		server["authority"] = identity["authority"]
	}
	configuration["valkey"] = server
	agents := map[string]string{}
	for _, o := range slices.Concat(m.site.members, m.site.spare) {
		agents[string(o.id)] = "127.0.0.1:" + strconv.Itoa(o.sentinel)
	}
	configuration["sentinel"] = map[string]any{"name": "db", "listen": agents[string(m.id)], "peers": agents}
}

func (valkey) tool() tool {
	if strings.HasPrefix(*serverFlag, "redis") {
		return engines.NewRedis()
	}
	return engines.New()
}

func (valkey) values() map[string]string { return map[string]string{"maxmemory": "64mb"} }

// first is the child of the agent.
func (valkey) first(m *member) int {
	_, agent, others := m.processes()
	for _, pid := range others {
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(agent) {
			return pid
		}
	}
	return 0
}

func (valkey) prepare(*member) error { return nil }

func (e valkey) dial(ctx context.Context, m *member) (session, error) {
	return e.dialPort(ctx, m, m.clientPort())
}

func (valkey) dialPort(ctx context.Context, m *member, port int) (session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	if m.site.options.proxied {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	}
	s := &redisSession{conn: conn, in: bufio.NewReader(conn), confirm: m.site.options.durability == protocol.Strict}
	if _, err := s.do(ctx, "AUTH", "app", password); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (e valkey) rows(p, m *member) (map[int]bool, error) {
	of, there := p.status(), m.status()
	if of == nil || there == nil || there.Server.Position.Compare(of.Server.Position) < 0 {
		return nil, errors.New("it does not hold all of it")
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	s, err := e.dialPort(ctx, m, m.port)
	if err != nil {
		return nil, err
	}
	defer s.close()
	got, err := s.(*redisSession).do(ctx, "SMEMBERS", "rows")
	held := map[int]bool{}
	for _, r := range got {
		id, invalid := strconv.Atoi(r)
		held[id], err = true, errors.Join(err, invalid)
	}
	return held, err
}

func (valkey) answersLate(d protocol.Durability) bool { return d != protocol.Strict }

// timelines reads what the agents said when they promoted their servers.
func (valkey) timelines(s *site) func(string) (uint64, bool) {
	said := regexp.MustCompile(`promoted: timeline (\d+) begins at \d+ with the replication ID (\w+)`)
	known := map[string]uint64{}
	for _, m := range slices.Concat(s.members, s.spare, s.gone) {
		raw, _ := os.ReadFile(filepath.Join(s.dir, "log-"+string(m.id)))
		for _, found := range said.FindAllStringSubmatch(string(raw), -1) {
			timeline, err := strconv.ParseUint(found[1], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			known[found[2]] = timeline
		}
	}
	return func(history string) (uint64, bool) {
		timeline, ok := known[history]
		return timeline, ok
	}
}

// redisSession is the session of a client.
type redisSession struct {
	conn net.Conn
	in   *bufio.Reader
	// confirm has a client wait until a replica holds its row.
	confirm bool
}

// insert adds one row and asks for the replication ID in one transaction.
func (s *redisSession) insert(ctx context.Context, id int) (string, uint64, error) {
	var got []string
	for _, command := range [][]string{
		{"MULTI"},
		{"SADD", "rows", strconv.Itoa(id)},
		{"INFO", "replication"},
		{"EXEC"},
	} {
		var err error
		if got, err = s.do(ctx, command...); err != nil {
			if strings.HasPrefix(err.Error(), "READONLY") {
				s.close() // the transaction is broken
			}
			return "", 0, err
		}
	}
	if s.confirm {
		acknowledged, err := s.do(ctx, "WAIT", "1", "10000")
		if err != nil || acknowledged[0] == "0" {
			return "", 0, errors.Join(err, errors.New("no replica confirmed the row"))
		}
	}
	fields := map[string]string{}
	for line := range strings.Lines(got[len(got)-1]) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[key] = value
	}
	place, err := strconv.ParseUint(fields["master_repl_offset"], 10, 64)
	if fields["role"] != "master" {
		err = errors.Join(err, errors.New("a replica took a row"))
	}
	return fields["master_replid"], place, err
}

// refusal is an error that a server answers: what was asked for was not done.
type refusal string

func (r refusal) Error() string { return string(r) }

func (s *redisSession) do(ctx context.Context, args ...string) ([]string, error) {
	deadline, _ := ctx.Deadline()
	_ = s.conn.SetDeadline(deadline)
	var command strings.Builder
	fmt.Fprintf(&command, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&command, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(s.conn, command.String()); err != nil {
		return nil, err
	}
	return s.answer()
}

func (s *redisSession) answer() ([]string, error) {
	line, err := s.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	rest := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return nil, refusal(rest)
	case '$', '*':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return nil, errors.Join(err, errors.New("the answer is empty"))
		}
		if line[0] == '$' {
			raw := make([]byte, n+2)
			_, err := io.ReadFull(s.in, raw)
			return []string{string(raw[:n])}, err
		}
		var all []string
		for range n {
			one, err := s.answer()
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	return []string{rest}, nil
}

func (s *redisSession) close() { _ = s.conn.Close() }
