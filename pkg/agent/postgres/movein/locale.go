//go:build linux

package movein

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// unknownLocale is the error of a locale that the system lacks.
const unknownLocale = "22023"

// lacks says which locales of databases this server does not have, so that it can't make those databases.
func (s Server) lacks(ctx context.Context, databases []source.Database) (why []string, err error) {
	for _, d := range databases {
		// No locale of the system is in the catalogue that came after the data was made: so one is tried, and not kept.
		_, err := s.Once(ctx, "BEGIN; CREATE COLLATION pg_temp.tried (provider = libc, lc_collate = "+
			local.Literal(d.Collate)+", lc_ctype = "+local.Literal(d.Ctype)+"); ROLLBACK")
		refused, is := errors.AsType[*pgconn.PgError](err)
		switch {
		case is && refused.Code == unknownLocale:
			names := slices.Compact([]string{d.Collate, d.Ctype})
			why = append(why, fmt.Sprintf("the locales %q of its database %q are not in the image of this cluster", names,
				d.Name))
		case err != nil && !is: // of another encoding than this database
			return nil, fmt.Errorf("try the locales of the source: %w", err)
		}
	}
	return why, nil
}
