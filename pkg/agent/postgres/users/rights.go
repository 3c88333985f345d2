//go:build linux

package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// rights are what a role may do with what others made in a database.
type rights struct{ tables, sequences []string }

func reading() rights { return rights{tables: []string{"SELECT"}, sequences: []string{"SELECT"}} }

func writing() rights {
	return rights{tables: []string{"SELECT", "INSERT", "UPDATE", "DELETE"},
		sequences: []string{"USAGE", "SELECT", "UPDATE"}}
}

// later are the statements by which a role has them on what another one makes from now on.
func (r rights) later(maker, role string) (out []string) {
	for kind, may := range map[string][]string{"TABLES": r.tables, "SEQUENCES": r.sequences, "SCHEMAS": {"USAGE"}} {
		out = append(out, fmt.Sprintf("ALTER DEFAULT PRIVILEGES FOR ROLE %s GRANT %s ON %s TO %s", local.Identifier(maker),
			strings.Join(may, ", "), kind, local.Identifier(role)))
	}
	return out
}

// missing asks for the statements by which a role has them on what there is. What it has already is left as it is.
func (r rights) missing(role string) string {
	lacks := func(function, object string, may []string) string {
		var out []string
		for _, one := range may {
			out = append(out, fmt.Sprintf("NOT %s(%s, %s, '%s')", function, local.Literal(role), object, one))
		}
		return "(" + strings.Join(out, " OR ") + ")"
	}
	grant := func(may []string, kind string) string {
		return fmt.Sprintf("'GRANT %s ON %s %%I.%%I TO %%I', n.nspname, c.relname, %s", strings.Join(may, ", "), kind,
			local.Literal(role))
	}
	const people = ` n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND `
	const relations = ` FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE` + people
	return "SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, " + local.Literal(role) +
		") FROM pg_namespace n WHERE" + people + lacks("has_schema_privilege", "n.oid", []string{"USAGE"}) +
		" UNION ALL SELECT format(" + grant(r.tables, "TABLE") + ")" + relations +
		"c.relkind IN ('r', 'p', 'v', 'm', 'f') AND " + lacks("has_table_privilege", "c.oid", r.tables) +
		" UNION ALL SELECT format(" + grant(r.sequences, "SEQUENCE") + ")" + relations +
		// The order of conditions is not that of the text, and a table is no sequence.
		"CASE WHEN c.relkind = 'S' THEN " + lacks("has_sequence_privilege", "c.oid", r.sequences) + " ELSE false END"
}

// rightsTries is how often the rights on what is in a database are given: somebody may drop it meanwhile.
const rightsTries = 3

// rights are what the roles of a database may there: the readers read what anybody made, and what its writers and its
// owner make later; so do the writers where the database is not theirs, and they change it, too.
func (a access) rights() map[string]rights {
	may := map[string]rights{}
	if a.known[a.readers] {
		may[a.readers] = reading()
	}
	if a.known[a.writers] && !a.owns() {
		may[a.writers] = writing()
	}
	return may
}

// makers are those of whom a role has rights on what they make later.
func (a access) makers(role string) []string {
	if role == a.readers && a.known[a.writers] && !a.owns() {
		return []string{a.owner, a.writers}
	}
	return []string{a.owner}
}

// giveRights gives the roles of a database what they may there.
func (s Users) giveRights(ctx context.Context, a access) (err error) {
	what := "give the rights in database " + a.database
	for role, r := range a.rights() {
		var later []string
		for _, maker := range a.makers(role) {
			later = append(later, r.later(maker, role)...)
		}
		if err := s.ExecuteIn(ctx, a.database, what, later); err != nil {
			return err
		}
		for range rightsTries {
			if err = s.giveMissing(ctx, a.database, what, r.missing(role)); !isRefused(err) {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s Users) giveMissing(ctx context.Context, database, what, missing string) error {
	got, err := s.OnceIn(ctx, database, missing)
	if err != nil {
		return local.RefusedBy(what, err)
	}
	if len(got[0]) == 0 {
		return nil
	}
	change := make([]string, len(got[0]))
	for i, row := range got[0] {
		change[i] = row[0]
	}
	return s.ExecuteIn(ctx, database, what, change)
}

func isRefused(err error) bool {
	_, refused := errors.AsType[api.Refused](err)
	return refused
}
