package source

import (
	"maps"
	"slices"
)

// schema sums up the definitions in a database, by kind. What VACUUM, ANALYZE, TRUNCATE or REINDEX change does not
// count, nor what a cut over sets to close a database. The xmin of a row of a catalogue is another one after each
// change of it, and sums of one server alone are compared.
const schema = `WITH c AS (SELECT c.*, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')),
 n AS (SELECT oid, xmin FROM pg_namespace WHERE nspname <> 'information_schema' AND nspname !~ '^pg_'),
 o AS (SELECT 'tables' AS kind, oid, concat_ws(',', nspname, relname, relkind, relpersistence, relreplident, relowner,
   relacl, relispartition, relpartbound, relrowsecurity, relforcerowsecurity, reloptions) AS state FROM c
  UNION ALL SELECT 'tables', inhrelid, inhparent || ',' || inhseqno FROM pg_inherits JOIN c ON c.oid = inhrelid
  UNION ALL SELECT 'columns', attrelid, attnum || ',' || a.xmin FROM pg_attribute a JOIN c ON c.oid = attrelid
   WHERE attnum > 0
  UNION ALL SELECT 'constraints', x.oid, x.xmin::text FROM pg_constraint x JOIN n ON n.oid = connamespace
  UNION ALL SELECT 'triggers', x.oid, x.xmin::text FROM pg_trigger x JOIN c ON c.oid = tgrelid
  UNION ALL SELECT 'functions', x.oid, x.xmin::text FROM pg_proc x JOIN n ON n.oid = pronamespace
  UNION ALL SELECT 'types', x.oid, x.xmin::text FROM pg_type x JOIN n ON n.oid = typnamespace WHERE typtype <> 'c'
  UNION ALL SELECT 'schemas', oid, xmin::text FROM n
  UNION ALL SELECT 'extensions', oid, extname || ' ' || extversion FROM pg_extension
  UNION ALL SELECT 'policies', x.oid, x.xmin::text FROM pg_policy x JOIN c ON c.oid = polrelid
  UNION ALL SELECT 'views', x.oid, x.xmin::text FROM pg_rewrite x JOIN c ON c.oid = ev_class
  UNION ALL SELECT 'indexes', indrelid, concat_ws(',', k.relname, k.relam, k.reloptions, indkey, indclass, indcollation,
   indoption, indisunique, indisprimary, indisexclusion, indimmediate, indisreplident, indexprs, indpred)
   FROM pg_index JOIN c ON c.oid = indrelid JOIN pg_class k ON k.oid = indexrelid WHERE indisvalid
  UNION ALL SELECT 'sequences', seqrelid, concat_ws(',', seqtypid, seqstart, seqincrement, seqmax, seqmin, seqcache,
   seqcycle) FROM pg_sequence JOIN c ON c.oid = seqrelid
  UNION ALL SELECT 'types', enumtypid, enumsortorder || enumlabel FROM pg_enum JOIN pg_type t ON t.oid = enumtypid
   JOIN n ON n.oid = typnamespace
  UNION ALL SELECT 'privileges', x.oid, x.xmin::text FROM pg_default_acl x
  UNION ALL SELECT 'triggers', x.oid, x.xmin::text FROM pg_event_trigger x
  UNION ALL SELECT 'foreign servers', x.oid, x.xmin::text FROM pg_foreign_data_wrapper x
  UNION ALL SELECT 'foreign servers', x.oid, x.xmin::text FROM pg_foreign_server x
  UNION ALL SELECT 'foreign servers', x.oid, x.xmin::text FROM pg_user_mapping x
  UNION ALL SELECT 'foreign servers', ftrelid, x.xmin::text FROM pg_foreign_table x
  UNION ALL SELECT 'operators', x.oid, x.xmin::text FROM pg_operator x JOIN n ON n.oid = oprnamespace
  UNION ALL SELECT 'operators', x.oid, x.xmin::text FROM pg_opclass x JOIN n ON n.oid = opcnamespace
  UNION ALL SELECT 'casts', x.oid, x.xmin::text FROM pg_cast x WHERE x.oid >= 16384
  UNION ALL SELECT 'text search', x.oid, x.xmin::text FROM pg_ts_config x JOIN n ON n.oid = cfgnamespace
  UNION ALL SELECT 'text search', x.oid, x.xmin::text FROM pg_ts_dict x JOIN n ON n.oid = dictnamespace
  UNION ALL SELECT 'statistics', x.oid, x.xmin::text FROM pg_statistic_ext x JOIN n ON n.oid = stxnamespace
  UNION ALL SELECT CASE setrole WHEN 0 THEN 'settings' ELSE 'roles' END, setrole, setdatabase || s
   FROM pg_db_role_setting, unnest(setconfig) s WHERE NOT starts_with(s, 'dbop.closed_for=')
   AND NOT starts_with(s, 'default_transaction_read_only=') AND setdatabase IN (0,
    (SELECT oid FROM pg_database WHERE datname = current_database()))
  UNION ALL SELECT 'roles', roleid, member || ',' || x.xmin FROM pg_auth_members x
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
