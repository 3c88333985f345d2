package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// odd is the name of a database with characters that mean something.
const odd = `it's "odd"`

// everything is what the oldest version holds.
const everything = `
CREATE TABLE kept (n int PRIMARY KEY, word text COLLATE "de-x-icu" NOT NULL);
INSERT INTO kept SELECT n, md5(n::text) FROM generate_series(1, 5000) n;
CREATE INDEX ordered ON kept (word);
CREATE INDEX libc ON kept (word COLLATE "C.utf8");
CREATE COLLATION own (provider = icu, locale = 'de');
CREATE INDEX "by
own" ON kept (word COLLATE own);
UPDATE pg_collation SET collversion = '1' WHERE collname = 'own';
CREATE TABLE parts (n int, at date, word text COLLATE "de-x-icu") PARTITION BY RANGE (at);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2020-01-01') TO ('2030-01-01');
CREATE INDEX by_word ON parts (word);
INSERT INTO parts SELECT n, '2026-01-01', md5(n::text) FROM generate_series(1, 10) n;
CREATE SEQUENCE counter START 41;
SELECT nextval('counter');
CREATE EXTENSION hstore;
CREATE EXTENSION pg_stat_statements VERSION '1.9';
CREATE TABLE pairs AS SELECT 'a=>1'::hstore AS h;
CREATE FUNCTION twice(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2 * $1; END';
CREATE ROLE alice LOGIN PASSWORD 'secret';
GRANT SELECT ON kept TO alice;
SELECT lo_from_bytea(4711, decode(repeat('abcd', 10000), 'hex'))`

// contents are questions that every version answers alike.
func contents() [][2]string {
	return [][2]string{
		{"postgres", "SELECT count(*), md5(string_agg(word, '' ORDER BY n)) FROM kept"},
		{"postgres", "SELECT last_value FROM counter"},
		{"postgres", "SELECT count(*), min(at) FROM parts"},
		{"postgres", "SELECT md5(lo_get(4711))"},
		{"postgres", "SELECT h -> 'a', twice(21) FROM pairs"},
		{"postgres", "SELECT md5(rolpassword) FROM pg_authid WHERE rolname = 'alice'"},
		{"postgres", "SELECT has_table_privilege('alice', 'kept', 'SELECT'), current_setting('data_checksums')"},
		{odd, "SELECT count(*), md5(string_agg(word, '' ORDER BY word)) FROM words"},
	}
}

// TestConvert brings data through every version, and straight from the oldest to the newest: nothing is lost, and
// indexes that hang on the order of text are made again.
func TestConvert(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	for name, way := range map[string][]release{"each": all, "straight": {oldest, newest}} {
		t.Run(name, func(t *testing.T) {
			d := s.make(t, name, oldest)
			files := [][2]string{{"postgres", "SELECT pg_relation_filenode('ordered'), pg_relation_filenode('libc'), " +
				"pg_relation_filenode('parts_1_word_idx')"},
				{"postgres", "SELECT pg_relation_filenode('kept_pkey')"},
				{odd, "SELECT pg_relation_filenode('words_pkey')"}}
			before := d.ask(t, oldest, append([][2]string{{"postgres", everything},
				{"postgres", `CREATE DATABASE "it's ""odd""" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv'`},
				{odd, "CREATE TABLE words AS SELECT md5(n::text) AS word FROM generate_series(1, 500) n; " +
					"ALTER TABLE words ADD PRIMARY KEY (word)"}}, append(contents(), files...)...)...)[3:]
			for i := range way[1:] {
				if err := d.convert(t, way[i], way[i+1]); err != nil {
					t.Fatal(err)
				}
			}
			after := d.ask(t, newest, append(contents(), files...)...)
			n := len(contents())
			if diff := cmp.Diff(before[:n], after[:n]); diff != "" {
				t.Errorf("the data is another one (-before +after):\n%s", diff)
			}
			if before[n] == after[n] || before[n+1] != after[n+1] || before[n+2] == after[n+2] {
				t.Errorf("indexes had the files %v, and have %v", before[n:], after[n:])
			}
			state := d.ask(t, newest,
				[2]string{"postgres", "SELECT count(*) FROM pg_collation WHERE collversion <> " +
					"pg_collation_actual_version(oid)"},
				[2]string{"postgres", "SELECT count(*) FROM pg_database WHERE datcollversion IS DISTINCT FROM " +
					"pg_database_collation_actual_version(oid) AND datallowconn"},
				[2]string{"postgres", "SELECT count(*) FROM pg_stats WHERE tablename = 'kept'"},
				[2]string{"postgres", "SELECT count(*) FROM pg_available_extensions WHERE installed_version <> " +
					"default_version"},
				[2]string{"postgres", "SELECT setting FROM pg_settings WHERE name = 'wal_segment_size'"})
			if diff := cmp.Diff([]string{"0", "0", "2", "0", "4194304"}, state); diff != "" {
				t.Errorf("old orders, databases with one, statistics, old extensions, size of a file of the log "+
					"(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConvertRefused: what the newer version lacks is named, and the old data still serves.
func TestConvertRefused(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	if oldest.programs.Major != "15" {
		t.Skip("version 15 has what later versions lack")
	}
	for name, c := range map[string]struct {
		make  string
		words []string
	}{
		"type":    {"CREATE TABLE odd (n int, a aclitem)", []string{"public.odd.a"}},
		"library": {"CREATE EXTENSION adminpack", []string{"adminpack", "postgres"}},
		"view": {"CREATE VIEW odd AS SELECT buffers_backend FROM pg_stat_bgwriter",
			[]string{"VIEW odd", "buffers_backend"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := s.make(t, name, oldest)
			d.ask(t, oldest, [2]string{"postgres", c.make}, [2]string{"postgres", "CREATE TABLE kept AS SELECT 7 AS n"})
			err := d.convert(t, oldest, newest)
			if err == nil {
				t.Fatal("it is converted")
			}
			t.Log(err)
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the error does not name %s", word)
				}
			}
			if got := d.ask(t, oldest, [2]string{"postgres", "SELECT n FROM kept"}); got[0] != "7" {
				t.Errorf("the old data holds %v", got)
			}
		})
	}
}

// former is a directory of the servers' user, and the versions.
func former(t *testing.T) (*site, []release) {
	t.Helper()
	if os.Getenv("DBOP_FORMER") == "" {
		t.Skip("DBOP_FORMER names no trees with former versions: hack/agents.sh has them")
	}
	s := newSite(t, options{})
	if err := os.MkdirAll(filepath.Join(s.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return s, s.releases(t)
}
