package local

import (
	"fmt"
	"strings"
)

// The first versions with a setting.
const (
	idleSessionSince = 14
	transactionSince = 17
)

// Options are the settings of every session of the agent. It is a superuser in databases that belong to others: what an
// owner set for a database, or made in a schema of its own, must not stand in for what the agent calls by name
// (CVE-2018-1058), and no time limit that people set may end what a switchover needs. A session's own settings win over
// those of roles and databases (https://www.postgresql.org/docs/current/config-setting.html).
func (s Server) Options() string {
	all := []string{"default_transaction_read_only=off", `default_transaction_isolation=read\ committed`,
		"search_path=pg_catalog", "role=none", "client_encoding=UTF8", "statement_timeout=0", "lock_timeout=0",
		"idle_in_transaction_session_timeout=0"}
	if s.Major >= idleSessionSince {
		all = append(all, "idle_session_timeout=0")
	}
	if s.Major >= transactionSince {
		all = append(all, "transaction_timeout=0")
	}
	return "-c " + strings.Join(all, " -c ")
}

// Session is how libpq opens a session of the agent in a database, at a port of the sockets. The server knows it by a
// name.
func (s Server) Session(port int, database, name string) string {
	return s.Conninfo(port, fmt.Sprintf("dbname=%s application_name=%s options=%s", Value(database), name,
		Value(s.Options())))
}
