package source

import (
	"maps"
	"slices"
)

// schema sums up the definitions in a database, by kind. What VACUUM, ANALYZE, TRUNCATE or REINDEX change does not
// count. The xmin of a row of a catalogue is another one after each change of it.
const schema = `WITH c AS (SELECT c.*, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')),
 n AS (SELECT oid, xmin FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname !~ '^pg_'),
 o AS (SELECT 'tables' AS kind, oid, concat_ws(',', nspname, relname, relkind, relpersistence, relreplident, relowner,
   relacl, relispartition, relpartbound) AS state FROM c
  UNION ALL SELECT 'columns', attrelid, attnum || ',' || a.xmin FROM pg_attribute a JOIN c ON c.oid = attrelid
   WHERE attnum > 0
  UNION ALL SELECT 'constraints', x.oid, x.xmin::text FROM pg_constraint x JOIN n ON n.oid = connamespace
  UNION ALL SELECT 'triggers', x.oid, x.xmin::text FROM pg_trigger x JOIN c ON c.oid = tgrelid
  UNION ALL SELECT 'functions', x.oid, x.xmin::text FROM pg_proc x JOIN n ON n.oid = pronamespace
  UNION ALL SELECT 'types', x.oid, x.xmin::text FROM pg_type x JOIN n ON n.oid = typnamespace WHERE typtype <> 'c'
  UNION ALL SELECT 'schemas', oid, xmin::text FROM n
  UNION ALL SELECT 'extensions', oid, extname || ' ' || extversion FROM pg_extension
  UNION ALL SELECT 'roles', oid, xmin::text FROM pg_authid)
SELECT kind, md5(string_agg(oid || ':' || state, ';' ORDER BY oid, state)) FROM o GROUP BY 1`

// Definitions asks a database for the sums of its definitions, by kind: see Sums.
const Definitions = schema

// Sums reads the answer to Definitions.
func Sums(rows [][]string) map[string]string { return sums(rows) }

func sums(rows [][]string) map[string]string {
	out := map[string]string{}
	for _, row := range rows {
		out[row[0]] = row[1]
	}
	return out
}

// Changed names the kinds of objects whose definitions differ.
func Changed(before, now map[string]string) (kinds []string) {
	all := maps.Clone(before)
	maps.Copy(all, now)
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		if before[kind] != now[kind] {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
