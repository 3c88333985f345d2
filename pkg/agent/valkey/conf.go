//go:build linux

package valkey

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// upstreamHost is where the agent listens for its own server.
const upstreamHost = "127.0.0.1"

// setting is one that the driver keeps.
type setting struct{ name, value string }

// managed returns the settings that safety needs. They are the last ones in the file, so that nothing overrides them.
func (s *Server) managed(data string, settings protocol.Settings, passwords secrets) []setting {
	c := s.Config
	clients, encrypted := c.Port, 0
	if c.Certificate != "" {
		clients, encrypted = 0, c.Port
	}
	all := []setting{
		{"dir", db(data)},
		{"bind", c.Listen},
		{"port", strconv.Itoa(clients)},
		{"unixsocket", c.socket()},
		{"unixsocketperm", "700"},
		{"protected-mode", "no"},
		{"aclfile", filepath.Join(c.conf(), "users.acl")},
		{"daemonize", "no"},
		{"supervised", "no"},
		{"logfile", ""},
		{"appendonly", "yes"},
		{"appendfilename", datadir.AppendFile},
		{"appenddirname", datadir.AppendDirectory},
		{appendFsyncSetting, appendFsync(settings)},
		{"no-appendfsync-on-rewrite", "no"},
		{"aof-load-truncated", "yes"},
		{"aof-use-rdb-preamble", "yes"},
		{"save", ""},
		{"rdbchecksum", "yes"},
		{"stop-writes-on-bgsave-error", "no"},
		// A server never starts as a primary: the agent promotes it.
		{"replicaof", upstreamHost + " " + strconv.Itoa(s.upstreamPort)},
		{"masteruser", streamUser},
		{"masterauth", passwords.upstream},
		{"replica-read-only", "yes"},
		{"replica-serve-stale-data", "yes"},
		{"replica-announce-port", strconv.Itoa(c.Port)},
		{"repl-diskless-sync", "yes"},
		{"repl-diskless-sync-delay", "0"},
		{"repl-diskless-load", "disabled"},
		{"repl-ping-replica-period", "1"},
		{replTimeout, replSeconds},
		{"repl-backlog-ttl", "0"},
		{"min-replicas-max-lag", strconv.Itoa(maxLagSeconds)},
		{"enable-protected-configs", "no"},
		{"enable-debug-command", "no"},
		{"enable-module-command", "no"},
		{"cluster-enabled", "no"},
	}
	if s.product.valkey && s.product.major >= 8 {
		all = append(all, setting{"dual-channel-replication-enabled", "no"})
	}
	if !s.product.valkey && s.product.major >= 8 {
		all = append(all, setting{"repl-rdb-channel", "no"})
	}
	if encrypted > 0 {
		all = append(all, setting{"tls-port", strconv.Itoa(encrypted)}, setting{"tls-cert-file", c.Certificate},
			setting{"tls-key-file", c.Key}, setting{"tls-ca-cert-file", c.Authority}, setting{"tls-auth-clients", "optional"},
			setting{"tls-replication", "no"})
	}
	return all
}

// maxLagSeconds is how long ago a replica must have acknowledged to count for min-replicas-to-write. Replicas do it
// each second.
const maxLagSeconds = 3

// Settings that the driver keeps besides: they change while the server runs.
const (
	leastReplicas = "min-replicas-to-write"
	announce      = "replica-announce-ip"
	// appendFsyncSetting follows from the durability, unless people ask for more.
	appendFsyncSetting = "appendfsync"
)

// appendFsync says when the server flushes: before it acknowledges a write where acknowledgements are promised to last.
func appendFsync(s protocol.Settings) string {
	if s.Durability == protocol.Strict || s.Values[appendFsyncSetting] == "always" {
		return "always"
	}
	return "everysec"
}

// keptSettings names what people can't set. They choose appendfsync by the durability, or as a value.
func (s *Server) keptSettings() []string {
	names := []string{leastReplicas, announce, "min-slaves-to-write", "min-slaves-max-lag", "slaveof", "slave-read-only",
		"slave-announce-ip", "slave-announce-port", "slave-serve-stale-data", "repl-ping-slave-period", "include", "user",
		"requirepass", "rename-command", "loadmodule", "primaryauth", "primaryuser", "tls-port", "tls-replication",
		"dbfilename", "always-show-logo", "set-proc-title"}
	for _, m := range s.managed("", protocol.Settings{}, secrets{}) {
		names = append(names, m.name)
	}
	return names
}

// peopleSettings returns the settings that people made and may make, in order, after those that follow from them.
func (s *Server) peopleSettings(settings protocol.Settings) (kept []setting) {
	refused := s.keptSettings()
	if _, chosen := settings.Values[backlogSetting]; !chosen {
		kept = append(kept, setting{backlogSetting, backlog(settings.Values)})
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Values)) {
		if name == logTimeout {
			continue // it is the agent's own
		}
		if !slices.Contains(refused, strings.ToLower(name)) {
			kept = append(kept, setting{strings.ToLower(name), settings.Values[name]})
		} else if name != appendFsyncSetting {
			s.Report(fmt.Sprintf("the setting %s belongs to the agent: its value is not used", name))
		}
	}
	return kept
}

func (s *Server) confFile() string { return filepath.Join(s.conf(), "server.conf") }

// origin is what a server reads when it starts: its append-only files, or the file of its last stop.
type origin bool

const (
	fromLog  origin = false
	fromDump origin = true
)

// writeConf writes the file with which the server starts in a copy of the data.
func (s *Server) writeConf(data, name string, id datadir.Identity, settings protocol.Settings, from origin) error {
	s.mu.Lock()
	passwords := s.secrets
	s.mu.Unlock()
	var b strings.Builder
	b.WriteString("# Written by the agent. Changes are lost; ask the agent for them.\n")
	all := append(s.peopleSettings(settings), s.managed(data, settings, passwords)...)
	all = append(all, setting{announce, name}, setting{leastReplicas, "0"}, setting{"dbfilename", dumpFile})
	if id.Source {
		all = append(all, setting{replTimeout, sourceSeconds})
	}
	if from == fromDump {
		all = append(all, setting{"appendonly", "no"})
	}
	for _, v := range all {
		value := quote(v.value)
		if v.name == "replicaof" || v.name == "bind" {
			value = v.value // several words
		}
		fmt.Fprintf(&b, "%s %s\n", v.name, value)
	}
	return disk.ReplaceBytes(s.confFile(), []byte(b.String()))
}

// quote writes a value for the file of settings.
func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}
