//go:build linux

package postgres

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/logfiles"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// setting is one that the driver keeps. The server gets it on its command line, so that no file and no ALTER SYSTEM
// overrides it.
type setting struct{ name, value string }

// managed returns the settings that safety needs, in order.
func (s *Server) managed() []setting {
	c := s.Config
	all := []setting{
		{"config_file", filepath.Join(c.conf(), "postgresql.conf")},
		{"hba_file", filepath.Join(c.conf(), "pg_hba.conf")},
		{"ident_file", filepath.Join(c.conf(), "pg_ident.conf")},
		{"listen_addresses", c.Listen},
		{"port", strconv.Itoa(c.Port)},
		{"unix_socket_directories", c.Sockets},
		{"unix_socket_permissions", "0700"},
		{"cluster_name", string(c.ID)},
		{"hot_standby", "on"},
		{"fsync", "on"},
		{"full_page_writes", "on"},
		// The agent decides what follows a crash.
		{"restart_after_crash", "off"},
		{"wal_log_hints", "on"},
		{"max_wal_senders", "16"},
		{"wal_sender_timeout", "5s"},
		{"wal_receiver_timeout", "5s"},
		// What a replica flushed it tells at once, and when it is asked: more words of it only wake up both agents.
		{"wal_receiver_status_interval", "10s"},
		{"wal_retrieve_retry_interval", "50ms"},
		{"recovery_target_timeline", "latest"},
		{"primary_conninfo", c.Conninfo(local.UpstreamPort, "application_name="+s.name())},
		{"primary_slot_name", ""},
		{"restore_command", ""},
		{"archive_command", logfiles.Command(c.Sockets)},
		{"recovery_end_command", ""},
		{"promote_trigger_file", ""},
		{"password_encryption", "scram-sha-256"},
		{"superuser_reserved_connections", strconv.Itoa(floors.SuperuserReserved)},
		{"logging_collector", "off"},
		{"log_destination", "stderr"},
		{"lc_messages", "C"},
	}
	if s.Major >= 16 {
		all = slices.DeleteFunc(all, func(s setting) bool { return s.name == "promote_trigger_file" })
	}
	if s.Major >= 17 {
		all = append(all, setting{"sync_replication_slots", "off"})
	}
	if c.Certificate != "" {
		all = append(all, setting{"ssl", "on"}, setting{"ssl_cert_file", c.Certificate}, setting{"ssl_key_file", c.Key},
			setting{"ssl_ca_file", c.Authority}, setting{"ssl_min_protocol_version", "TLSv1.2"})
	}
	return all
}

// synchronous is the one managed setting that changes while the server runs: it is in a file.
const synchronous = "synchronous_standby_names"

// name is under which this copy streams.
func (s *Server) name() string {
	return volume.CopyName(protocol.Standby{Member: s.ID, Volume: s.identity.Volume})
}

func (s *Server) arguments() []string {
	args := []string{"-D", s.pgdata()}
	for _, m := range s.managed() {
		args = append(args, "-c", m.name+"="+m.value)
	}
	return args
}

// keptSettings names what people can't set.
func (s *Server) keptSettings() []string {
	names := []string{synchronous, "data_directory", "archive_cleanup_command", "archive_library", "external_pid_file",
		"data_sync_retry", "ignore_checksum_failure", "ignore_invalid_pages", "zero_damaged_pages",
		"recovery_target", "recovery_target_lsn", "recovery_target_name", "recovery_target_time", "recovery_target_xid",
		"recovery_min_apply_delay"}
	for _, m := range s.managed() {
		names = append(names, m.name)
	}
	return names
}

// values are those that the server's files have for settings. The ones with a floor are always named: what a file does
// not name any more, the server takes for a change that needs a restart.
func (s *Server) values(settings protocol.Settings) (map[string]string, error) {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if ready {
		return floors.Asked(settings.Values).Raise(settings.Values), nil
	}
	written, err := s.written()
	return written.Raise(settings.Values), err
}

// writeFiles writes values of settings that people made, the synchronous set and the rules of access.
func (s *Server) writeFiles(settings protocol.Settings, values map[string]string) error {
	s.mu.Lock()
	names, barred := s.names, s.barred
	s.mu.Unlock()
	kept := s.keptSettings()
	var conf bytes.Buffer
	defaults, err := s.logDefaults()
	if err != nil {
		return err
	}
	conf.WriteString("# Written by the agent. Changes are lost; ask the agent for them.\n" + defaults)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(kept, name) {
			s.Report(fmt.Sprintf("the setting %s belongs to the agent: its value is not used", name))
			continue
		}
		if name == walLevel {
			continue
		}
		fmt.Fprintf(&conf, "%s = %s\n", name, quote(values[name]))
	}
	fmt.Fprintf(&conf, "%s = %s\n%s = %s\n", synchronous, quote(names), walLevel, s.level(values))
	if barred {
		conf.WriteString("default_transaction_read_only = on\n") // the agent's own sessions write
	}
	for name, content := range map[string]string{
		"postgresql.conf": conf.String(), "pg_hba.conf": s.hba(barred), "pg_ident.conf": "",
	} {
		path := filepath.Join(s.conf(), name)
		// A switchover waits for these files, and for the disk with each of them.
		if now, err := os.ReadFile(path); err == nil && string(now) == content { //nolint:gosec // the path is ours
			continue
		}
		if err := disk.ReplaceBytes(path, []byte(content)); err != nil {
			return err
		}
	}
	if err := s.stripAuto(append(kept, walLevel), values); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = settings
	return nil
}

// hba lets the agent in by the socket, which only the user of the server can reach, and everybody else by password,
// unless that is barred.
func (s *Server) hba(barred bool) string {
	if barred {
		return "local all " + local.User + " trust\nlocal replication " + local.User + " trust\nlocal all all reject\n" +
			"host all all all reject\n"
	}
	host := "host"
	if s.Certificate != "" {
		host = "hostssl"
	}
	return "local all " + local.User + " trust\nlocal replication " + local.User + " trust\n" +
		"local all all scram-sha-256\nhost all " + local.User + " all reject\n" +
		"host replication " + local.User + " all reject\n" + host + " all all all scram-sha-256\n"
}

// quote writes a value for a file of settings.
func quote(value string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`, "\n", `\n`).Replace(value) + "'"
}

// stripAuto takes out what ALTER SYSTEM wrote over a setting of the agent, or over one that all members agreed on, and
// reports it.
func (s *Server) stripAuto(kept []string, agreed map[string]string) error {
	path := filepath.Join(s.pgdata(), autoFile)
	raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what ALTER SYSTEM wrote: %w", err)
	}
	var left strings.Builder
	for line := range strings.Lines(string(raw)) {
		name := strings.ToLower(line)
		if end := strings.IndexAny(name, " \t="); end >= 0 {
			name = name[:end]
		}
		if slices.Contains(kept, name) {
			s.Report(fmt.Sprintf("ALTER SYSTEM changed %s, which belongs to the agent: it is taken back", name))
			continue
		}
		if _, set := agreed[name]; set {
			s.Report(fmt.Sprintf("ALTER SYSTEM changed %s, and all members agreed on a value: it is taken back", name))
			continue
		}
		left.WriteString(line)
	}
	if left.Len() == len(raw) {
		return nil
	}
	return disk.ReplaceBytes(path, []byte(left.String()))
}
