//go:build linux

package movein

import (
	"strconv"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestSurvey: what would break at the source, or here, is named before anything is done.
func TestSurvey(t *testing.T) {
	t.Parallel()
	from := start(t, local.User, "-c", "allow_in_place_tablespaces=on")
	for _, statement := range []string{
		"CREATE TABLE public.later (id int PRIMARY KEY DEFERRABLE)",
		"CREATE TABLE public.good (id int PRIMARY KEY)",
		"CREATE DOMAIN public.paper AS xml",
		"CREATE TABLE public.loose (id int, words varchar, at timestamptz, kinds text[], o oid, r regclass, n bpchar)",
		"ALTER TABLE public.loose REPLICA IDENTITY FULL",
		"CREATE TABLE public.good_json (id int PRIMARY KEY, j json)",
		"ALTER TABLE public.good_json REPLICA IDENTITY FULL",
		"CREATE TABLE public.j (x json)",
		"CREATE TABLE public.points (x point[])",
		"CREATE TABLE public.papers (x public.paper)",
		"ALTER TABLE public.j REPLICA IDENTITY FULL",
		"SELECT pg_create_logical_replication_slot('of_others', 'pgoutput')",
		"SELECT pg_create_logical_replication_slot('dbop_1_mine', 'pgoutput')",
		"CREATE TABLESPACE fast LOCATION ''",
		"ALTER DATABASE postgres SET work_mem = '5MB'",
		"GRANT CREATE ON DATABASE postgres TO pg_monitor",
		"CREATE DATABASE half",
		"UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half'",
	} {
		if _, err := from.Once(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	of := source.Source{Source: protocol.Source{Address: "127.0.0.1:" + strconv.Itoa(from.Port), User: local.User}}
	got, err := of.Survey(t.Context(), "dbop_1_", from.Major, 8)
	if err != nil {
		t.Fatal(err)
	}
	unfit := strings.Join(got.Unfit, "\n")
	for _, want := range []string{
		"the table public.later has no primary key, or one that is deferrable",
		"the table public.j has no primary key, or one that is deferrable, and values of its column x can not be compared",
		"the table public.points has no primary key, or one that is deferrable, and values",
		"the table public.papers has no primary key, or one that is deferrable, and values",
		`its database "half" was dropped only in part: DROP DATABASE "half"`,
	} {
		if !strings.Contains(unfit, want) {
			t.Errorf("it is unfit because\n%s\nwhich lacks %q", unfit, want)
		}
	}
	left := strings.Join(got.Left, "\n")
	for _, want := range []string{"the slot of_others", "the tablespace fast", "settings of the database postgres",
		"grants of the database postgres"} {
		if !strings.Contains(left, want) {
			t.Errorf("what does not come along is\n%s\nwhich lacks %q", left, want)
		}
	}
	if strings.Contains(left, "mine") {
		t.Errorf("a slot of the cluster itself is named:\n%s", left)
	}
	if strings.Contains(unfit, "public.good") || strings.Contains(unfit, "public.loose") {
		t.Errorf("a table is named that can be followed:\n%s", unfit)
	}
}
