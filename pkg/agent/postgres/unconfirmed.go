//go:build linux

package postgres

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	// cancelled is what the server writes as it acknowledges a commit that no replica confirmed: its client gave up the
	// wait. A session that ends in the wait gets no acknowledgement, and another message.
	cancelled = "canceling wait for synchronous replication due to user request"
	// cancelledAge is how long that is told.
	cancelledAge = 24 * time.Hour
)

// lowered asks who waits for less than others: no name is every role, or every database. Replicas have the same.
const lowered = `SELECT 'some', coalesce(r.rolname, ''), coalesce(d.datname, ''), split_part(o.option, '=', 2)
FROM pg_db_role_setting AS s LEFT JOIN pg_roles AS r ON r.oid = s.setrole LEFT JOIN pg_database AS d
 ON d.oid = s.setdatabase, unnest(s.setconfig) AS o(option)
WHERE o.option LIKE 'synchronous_commit=%' AND NOT pg_is_in_recovery()
UNION ALL SELECT 'all', '', '', setting FROM pg_settings WHERE name = 'synchronous_commit'
 AND source NOT IN ('database', 'user', 'database user', 'client', 'session') AND NOT pg_is_in_recovery()
ORDER BY 1, 2, 3`

// unconfirmed counts commits that were acknowledged although no replica had confirmed them.
type unconfirmed struct {
	mu          sync.Mutex
	count       int
	first, last time.Time
}

// note reads a line of the server's log.
func (u *unconfirmed) note(line string, now time.Time) {
	if level, text := said(line); level != "WARNING" || text != cancelled {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.last) > cancelledAge {
		u.count, u.first = 0, now
	}
	u.count, u.last = u.count+1, now
}

// tell warns of those that were counted.
func (u *unconfirmed) tell(m *api.Measures, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == 0 || now.Sub(u.last) > cancelledAge {
		return
	}
	word := "commits were"
	if u.count == 1 {
		word = "commit was"
	}
	m.Warnings = append(m.Warnings, fmt.Sprintf("%d %s acknowledged since %s that no replica had confirmed, as the "+
		"client cancelled the wait: a failover may lose what was written; let a COMMIT wait, and SELECT * FROM "+
		"pg_stat_replication shows for whom", u.count, word, u.first.UTC().Format(time.RFC3339)))
}

// tellLowered warns of settings by which an acknowledged write has reached less than durability says.
func tellLowered(m *api.Measures, durability protocol.Durability, rows [][]string) {
	for _, row := range rows {
		role, database, value := row[1], row[2], row[3]
		if !lowers(durability, value) {
			continue
		}
		who, reset := "of everybody", "ALTER ROLE ALL RESET synchronous_commit"
		switch {
		case row[0] == "all":
			reset = "configure --set synchronous_commit=on"
		case role != "" && database != "":
			who = fmt.Sprintf("of the role %q in the database %q", role, database)
			reset = fmt.Sprintf("ALTER ROLE %s IN DATABASE %s RESET synchronous_commit", local.Identifier(role),
				local.Identifier(database))
		case role != "":
			who = fmt.Sprintf("of the role %q", role)
			reset = fmt.Sprintf("ALTER ROLE %s RESET synchronous_commit", local.Identifier(role))
		case database != "":
			who = fmt.Sprintf("in the database %q", database)
			reset = fmt.Sprintf("ALTER DATABASE %s RESET synchronous_commit", local.Identifier(database))
		}
		m.Warnings = append(m.Warnings, fmt.Sprintf("writes %s are acknowledged with synchronous_commit = %s, and may be "+
			"lost although durability is %s; %s takes that back", who, value, durability, reset))
	}
}

// lowers reports whether a value of synchronous_commit promises less than a durability.
func lowers(durability protocol.Durability, value string) bool {
	switch strings.ToLower(value) {
	case "off", "false", "no", "0":
		return true
	case "local", "remote_write":
		return durability != protocol.Async
	}
	return false
}
