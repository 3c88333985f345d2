//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

var _ api.Checker = (*Server)(nil)

const (
	// foundDamage is how pg_amcheck ends if it found any.
	foundDamage = 2
	// mostProblems and mostProblem bound what is told of it.
	mostProblems = 20
	mostProblem  = 400
)

// CheckData implements api.Checker: pg_amcheck compares the tables and indexes of the catalogues of all databases. It
// installs the extension that it needs.
func (s *Server) CheckData(ctx context.Context) (api.DataCheck, error) {
	program := s.Program("pg_amcheck")
	if _, err := os.Stat(program); err != nil {
		return api.DataCheck{}, nil // version 13 and older have none
	}
	conn := local.Session{Conninfo: s.Conninfo(s.Port, "dbname=postgres application_name=check")}
	defer conn.Close()
	got, err := conn.Ask(ctx, "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'")
	if err != nil {
		return api.DataCheck{}, fmt.Errorf("check the data: %w", err)
	}
	if len(got[0]) == 0 {
		return api.DataCheck{}, nil // an image without the extensions
	}
	cmd := exec.CommandContext(ctx, program, "--all", "--install-missing", //nolint:gosec // the program is ours
		"--schema", "pg_catalog", "--heapallindexed", "--parent-check", "--no-password",
		"--maintenance-db", conn.Conninfo)
	// What a person set for a database must not keep the extension out.
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=5",
		"PGOPTIONS=-c default_transaction_read_only=off -c statement_timeout=0 -c lock_timeout=0")
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &limited{to: &out, left: 1 << 20}, &limited{to: &said, left: mostSaid}
	err = cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || ended.ExitCode() != foundDamage) {
		return api.DataCheck{}, fmt.Errorf("run pg_amcheck: %w: %s", err, strings.Join(strings.Fields(said.String()), " "))
	}
	check := api.DataCheck{By: "catalogues by pg_amcheck", Problems: problems(out.String())}
	if err != nil && len(check.Problems) == 0 {
		check.Problems = []string{"pg_amcheck found damage, and did not name it"}
	}
	return check, nil
}

// problems reads what pg_amcheck found: a line names the relation, and those that are indented say what is wrong.
func problems(out string) (all []string) {
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case !strings.HasPrefix(line, " "):
			all = append(all, text)
		case len(all) > 0:
			all[len(all)-1] += " " + text
		}
	}
	for i, p := range all {
		if p = strings.Join(strings.Fields(p), " "); len(p) > mostProblem {
			p = strings.ToValidUTF8(p[:mostProblem], "") + "..."
		}
		all[i] = p
	}
	if n := len(all); n > mostProblems {
		all = append(all[:mostProblems], fmt.Sprintf("and %d more", n-mostProblems))
	}
	return all
}
