package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// canceled is the error of a statement that took longer than it may.
const canceled = "57014"

// ErrSlow is that of rows that were not counted in time.
var ErrSlow = errors.New("the rows were not counted in time")

// CountRows are the statements that count the rows of one table, whose name is as SQL has it. The answer is that of the
// last one. A server that takes longer than it may answers an error for which Slow is true.
func CountRows(table string, within time.Duration) string {
	return fmt.Sprintf("SET statement_timeout = %d; SELECT count(*) FROM ONLY %s", max(1, within.Milliseconds()), table)
}

// Slow says that a statement was ended because it took longer than it may.
func Slow(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && e.Code == canceled
}

// Count counts the rows of a table in a database that is closed: no row changes there. It is ErrSlow if that takes
// longer than within; the session can go on.
func (f *Fence) Count(ctx context.Context, i int, table string, within time.Duration) (string, error) {
	got, err := f.within[i].Ask(ctx, CountRows(table, within))
	if Slow(err) {
		return "", ErrSlow
	}
	if err != nil {
		return "", err
	}
	return got[1][0][0], nil
}

// SmallestFirst is the statement that orders tables by their size.
func SmallestFirst(tables []string) string {
	quoted := make([]string, len(tables))
	for i, t := range tables {
		quoted[i] = local.Literal(t)
	}
	return "SELECT t FROM unnest(ARRAY[" + strings.Join(quoted, ",") + "]::text[]) AS t " +
		"ORDER BY pg_relation_size(t::regclass), t"
}
