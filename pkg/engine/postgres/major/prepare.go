package major

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// stamps removes from columns of people the option pg_attver, which 15.20 and 17.12 set by themselves. The programs of
// 18.6 carry it over as if a person had set it, and its server refuses it: so no table could be converted. Those of
// 17.12 leave it behind, too.
const stamps = `UPDATE pg_attribute SET attoptions = (SELECT array_agg(o) FROM unnest(attoptions) o ` +
	`WHERE o NOT LIKE 'pg_attver=%') WHERE attrelid >= 16384 AND array_to_string(attoptions, ' ') LIKE '%pg_attver=%'`

// prepared names transactions that a client prepared: pg_upgrade can't carry them over, and does not name them.
const prepared = `SELECT format('%L in the database %I', gid, database) FROM pg_prepared_xacts ORDER BY 1`

// halfDropped lists databases whose DROP was interrupted: nobody can enter them, and pg_upgrade neither.
const halfDropped = `SELECT quote_ident(datname) FROM pg_database WHERE datconnlimit = -2 ORDER BY 1`

// prepare removes from the old data what would end the conversion of any database.
func (u Upgrade) prepare(ctx context.Context, s private.Server) error {
	open, err := u.ask(ctx, s, maintenance, prepared)
	if err == nil && len(open) > 0 {
		err = fmt.Errorf("transactions are prepared, which no conversion carries over: %s; run COMMIT PREPARED or ROLLBACK "+
			"PREPARED for each; %s", strings.Join(open, ", "), u.remedy())
	}
	if err != nil {
		return err
	}
	broken, err := u.ask(ctx, s, maintenance, halfDropped)
	if err == nil && len(broken) > 0 {
		err = fmt.Errorf("databases were dropped only in part: DROP DATABASE %s; %s", strings.Join(broken, ", "), u.remedy())
	}
	if err != nil {
		return err
	}
	names, err := u.ask(ctx, s, maintenance, databases)
	for _, name := range names {
		if err == nil {
			err = u.do(s.Command(ctx, "psql", append(u.connect(s, name), "--command", stamps)...))
		}
	}
	return err
}
