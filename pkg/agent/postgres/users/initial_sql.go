//go:build linux

package users

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// ranMark is the setting of a database in which initial SQL was carried out. It is written in the transaction of that.
const ranMark = "dbop.initial_sql"

// RunOnce carries out statements in a transaction that they can't end: as one dynamic command of a block, where the
// server refuses what begins or ends transactions (PL/pgSQL, "Transaction Management"). The writers' role makes them;
// RESET ROLE among them makes the rest as a superuser.
func (s Users) RunOnce(ctx context.Context, body api.InitialSQL) error {
	database := body.Database
	if database == "" {
		database = Database
	}
	if strings.ContainsRune(body.Statements, 0) {
		return api.NotAccepted{Why: "a zero byte is no text"}
	}
	writers, err := s.writersOf(ctx, body.Role, database)
	if err != nil {
		return err
	}
	conn, err := s.Enter(ctx, database)
	if err != nil {
		return local.RefusedBy("carry out initial SQL in database "+database, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// A second try waits for the first one.
	got, err := local.Ask(ctx, conn, local.Quiet+` BEGIN; SELECT pg_advisory_xact_lock(hashtext('`+ranMark+`'));
 SELECT 1 FROM pg_db_role_setting s, unnest(s.setconfig) c WHERE s.setrole = 0 AND c LIKE '`+ranMark+`=%'
 AND s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	if err != nil {
		return fmt.Errorf("carry out initial SQL in database %s: %w", database, err)
	}
	if len(got[len(got)-1]) > 0 {
		return nil
	}
	// The database is as it was made, so its path is the default one, which sessions of the agent do not have.
	begin := `SET LOCAL search_path = "$user", public; SET LOCAL ROLE ` + local.Identifier(writers)
	if _, err := local.Ask(ctx, conn, begin); err != nil {
		return local.RefusedBy("carry out initial SQL as "+writers, err)
	}
	block := "BEGIN EXECUTE " + local.Literal(body.Statements) + "; END"
	if _, err := local.Ask(ctx, conn, "DO "+local.Literal(block)); err != nil {
		return notAccepted(err, body.Statements)
	}
	_, err = local.Ask(ctx, conn, "RESET SESSION AUTHORIZATION; RESET ROLE; ALTER DATABASE "+local.Identifier(database)+
		" SET "+ranMark+" = 'done'; COMMIT")
	return notAccepted(err, body.Statements) // constraints may be checked this late
}

// writersOf is the role as which a user writes in a database.
func (s Users) writersOf(ctx context.Context, role, database string) (string, error) {
	h, err := s.readHeld(ctx, api.User{Name: role, Role: role})
	if err != nil {
		return "", err
	}
	a, err := s.readAccess(ctx, database, func(role string) bool { return h.both[role] })
	return a.writers, err
}

// notAccepted tells what the server does not accept from a broken connection.
func notAccepted(err error, statements string) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case !ok || !local.Answered(err):
		return fmt.Errorf("carry out initial SQL: %w", err)
	}
	why := refused.Message
	if at := int(refused.InternalPosition); at > 0 && refused.InternalQuery == statements {
		characters := []rune(statements)
		why = fmt.Sprintf("line %d: %s", 1+strings.Count(string(characters[:min(at-1, len(characters))]), "\n"), why)
	}
	return api.NotAccepted{Why: why}
}
