//go:build linux

package movein

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// copyDefinitions makes one database as it is at the source, without rows.
func (m *Move) copyDefinitions(ctx context.Context, d source.Database) error {
	s := m.server
	scratch, err := os.MkdirTemp(s.Sockets, "schema")
	if err != nil {
		return fmt.Errorf("copy the definitions of %s: %w", d.Name, err)
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the directory is that of this run
	dump, script := filepath.Join(scratch, "dump"), filepath.Join(scratch, "script")
	arguments := []string{"--schema-only", "--no-publications", "--no-subscriptions", "--no-tablespaces", "--file", dump,
		"--dbname", s.Conninfo(local.SourcePort, "dbname="+local.Value(d.Name))}
	into := source.Maintenance
	if d.Name != into {
		arguments, into = append(arguments, "--create"), "template1"
	}
	if err := s.Run(ctx, "pg_dump", arguments...); err != nil {
		return err
	}
	if err := rewrite(dump, script, withoutStamps); err != nil {
		return fmt.Errorf("copy the definitions of %s: %w", d.Name, err)
	}
	return s.Run(ctx, "psql", "--no-psqlrc", "--quiet", "--output", "/dev/null", "--set", "ON_ERROR_STOP=1", "--file",
		script, "--dbname", s.Session(s.Port, into, "agent"))
}

// rewrite writes each line of a file into another one, as a function returns it.
func rewrite(from, to string, line func(string) string) (err error) {
	in, err := os.Open(from) //nolint:gosec // the path is ours
	if err != nil {
		return err
	}
	defer in.Close()                                                      //nolint:errcheck // it was read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the path is ours
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		text, err := r.ReadString('\n')
		if _, err := w.WriteString(line(text)); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// columnOptions is how pg_dump sets the options of a column.
//
//nolint:gochecknoglobals // it never changes
var columnOptions = regexp.MustCompile(`^(ALTER (?:FOREIGN )?TABLE (?:ONLY )?\S.* ALTER COLUMN \S.* SET) \((.*)\);\n$`)

// withoutStamps takes the option pg_attver out of a line of a dump. 15.20 and 17.12 set it by themselves; the programs
// of 18.6 carry it over as if a person had set it, and its server refuses it.
func withoutStamps(line string) string {
	found := columnOptions.FindStringSubmatch(line)
	if found == nil || !strings.Contains(found[2], "pg_attver=") {
		return line
	}
	var kept []string
	for option := range strings.SplitSeq(found[2], ", ") {
		if !strings.HasPrefix(option, "pg_attver=") {
			kept = append(kept, option)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return found[1] + " (" + strings.Join(kept, ", ") + ");\n"
}
