//go:build linux

package movein

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// Told is what is known of the source.
func (m *Move) Told() api.Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.told
}

// Following says that all data was copied.
func (m *Move) Following() bool { return m.Told().Following }

// observe asks the source what it holds.
func (m *Move) observe(ctx context.Context) error {
	most, err := m.most(ctx)
	if err != nil {
		return err
	}
	now, err := m.source.Survey(ctx, m.own, m.server.Major, most)
	if err != nil {
		return err
	}
	m.survey, m.asked = now, time.Now()
	m.tell(func(t *api.Source) { t.Left = now.Left })
	return nil
}

// differs says what changed at the source that logical replication does not carry.
func (m *Move) differs(then mark, now source.Survey) error {
	var changed []string
	seen := map[string]bool{}
	for _, d := range now.Databases {
		seen[d.Name] = true
		before, known := then.Schemas[d.Name]
		if !known {
			changed = append(changed, fmt.Sprintf("the database %q is new", d.Name))
			continue
		}
		if kinds := m.changed(before, d.Schema); len(kinds) > 0 {
			changed = append(changed, fmt.Sprintf("definitions in the database %q: %s", d.Name, strings.Join(kinds, ", ")))
		}
	}
	for name := range then.Schemas {
		if !seen[name] {
			changed = append(changed, fmt.Sprintf("the database %q is gone, or closed", name))
		}
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(changed)
	if m.source.Kept {
		return fmt.Errorf("%s is not as it was at the cut over, and that does not come along: %s; there is no way back to "+
			"this cluster any more: delete it", m.source.Address, strings.Join(changed, "; "))
	}
	return fmt.Errorf("%s is not as it was copied, and that does not come along: %s; delete this cluster, and make "+
		"it again", m.source.Address, strings.Join(changed, "; "))
}

// changed names the kinds of definitions that differ. Roles of a source that is kept don't count.
func (m *Move) changed(before, now map[string]string) []string {
	kinds := source.Changed(before, now)
	if m.source.Kept {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "roles" })
	}
	return kinds
}

func (m *Move) publication() string { return strings.TrimSuffix(m.own, "_") }

// slots are those of this cluster at the source.
type slots struct {
	// valid keep what comes next, active are being read.
	valid, active int
	// lag is how many bytes of the log of the source were not confirmed yet.
	lag int64
}

func (m *Move) slots(ctx context.Context, now mark) (out slots, err error) {
	got, err := m.ask(ctx, source.Maintenance, "SELECT count(*) FILTER (WHERE wal_status IS DISTINCT FROM 'lost'), "+
		"count(*) FILTER (WHERE active), max(pg_current_wal_lsn() - confirmed_flush_lsn)::bigint "+
		"FROM pg_replication_slots WHERE starts_with(slot_name, "+local.Literal(m.slot(now, ""))+")")
	if err != nil {
		return out, err
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(got[0][0][i], 10, 64) // what is not there is 0
		return n
	}
	return slots{valid: int(number(0)), active: int(number(1)), lag: max(0, number(2))}, nil
}

// slot is the name of the one for a database, of a copy.
func (m *Move) slot(of mark, database string) string { return m.own + of.Copy + "_" + database }

// ask opens a session at the source for one message.
func (m *Move) ask(ctx context.Context, database, statements string) (local.Rows, error) {
	c, err := m.source.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Ask(ctx, statements)
}

// silent is for how long nothing came, by the subscription that heard of the source least.
func (m *Move) silent(ctx context.Context) (time.Duration, error) {
	got, err := m.server.Once(ctx, "SELECT floor(extract(day FROM s) * 86400 + extract(hour FROM s) * 3600 + "+
		"extract(minute FROM s) * 60 + extract(second FROM s))::bigint FROM (SELECT max(clock_timestamp() - "+
		"last_msg_receipt_time) AS s FROM pg_stat_subscription WHERE relid IS NULL AND subname = "+
		local.Literal(subscription)+") AS heard")
	if err != nil {
		return 0, err
	}
	seconds, _ := strconv.ParseInt(got[0][0][0], 10, 64) // nothing came yet
	return time.Duration(seconds) * time.Second, nil
}

// most is how many databases the server can follow at once: each takes a worker, and one copies tables.
func (m *Move) most(ctx context.Context) (int, error) {
	got, err := m.server.Once(ctx, "SELECT least(current_setting('max_logical_replication_workers')::int, "+
		"current_setting('max_worker_processes')::int - 1) - 1")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(got[0][0][0])
}
