package source

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Maintenance is the database that every server has; it is followed only if it holds tables.
const Maintenance = "postgres"

// oldest is the first major version that can be followed.
const oldest = 13

// Database is one database of the source.
type Database struct {
	Name, OID string
	// Collate and Ctype are its locales, of the system.
	Collate, Ctype string
	// Tables are followed, Sequences are read at the cut over, Views are the materialized views that are filled; all as
	// SQL names them.
	Tables, Sequences, Views []string
	// Schema tells whether the definitions changed: a sum for each kind of object.
	Schema map[string]string
}

// Survey is what a source holds, and what becomes of it.
type Survey struct {
	// Release is the version of the source, such as "15.18".
	Release   string
	Databases []Database
	// Unfit says why the source can't be followed as it is, Left what it holds that does not come along.
	Unfit, Left []string
	// Extensions are those that the data needs.
	Extensions []string
	// Bytes is the size of all databases.
	Bytes int64
	// agent says that an agent runs the source.
	agent bool
}

// server asks for what holds for all databases. $own are the names of slots that this cluster made.
const server = `SELECT current_setting('server_version_num')::int / 10000, current_setting('server_version'),
 pg_is_in_recovery(), current_setting('wal_level'), (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
 current_setting('max_replication_slots')::int
  - (SELECT count(*) FROM pg_replication_slots WHERE NOT starts_with(slot_name, $own)),
 current_setting('max_wal_senders')::int
  - (SELECT count(*) FROM pg_stat_replication r LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
     WHERE s.slot_name IS NULL OR NOT starts_with(s.slot_name, $own)),
 (SELECT sum(pg_database_size(oid)) FROM pg_database WHERE NOT datistemplate),
 EXISTS (SELECT FROM pg_roles WHERE rolname = 'dbop');
SELECT datname, oid, datallowconn, datconnlimit = -2, datcollate, datctype FROM pg_database
  WHERE NOT datistemplate ORDER BY 1;
SELECT format('the slot %I', slot_name) FROM pg_replication_slots WHERE slot_type = 'logical' AND NOT temporary
  AND NOT starts_with(slot_name, $own) AND slot_name !~ '^pg_[0-9]+_sync_'
UNION ALL SELECT format('the tablespace %I: its tables come into the default one', spcname) FROM pg_tablespace
  WHERE spcname !~ '^pg_'
UNION ALL SELECT 'grants of the database postgres' FROM pg_database WHERE datname = 'postgres' AND datacl IS NOT NULL
UNION ALL SELECT DISTINCT 'settings of the database postgres' FROM pg_db_role_setting s
  JOIN pg_database d ON d.oid = s.setdatabase WHERE d.datname = 'postgres'
ORDER BY 1`

// made is a condition: somebody made the relation c in the schema n, and no extension did.
const made = ` n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' AND NOT EXISTS (SELECT FROM pg_depend e
 WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')`

// incomparable asks for a column of the relation c whose type, or that of its elements, has no equality. A row of a
// table without a key is found by all of its columns.
const incomparable = `SELECT min(a.attname) AS unlike FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
 LEFT JOIN pg_type b ON b.oid = t.typbasetype
 LEFT JOIN pg_type e ON t.typtype = 'b' AND t.typcategory = 'A' AND e.oid = t.typelem
 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
 AND coalesce(b.typtype, e.typtype, t.typtype) = 'b' AND coalesce(b.typcategory, '') <> 'A'
 AND NOT EXISTS (SELECT FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod WHERE m.amname IN ('btree', 'hash')
  AND o.opcdefault AND (o.opcintype = coalesce(b.oid, e.oid, t.oid) OR EXISTS (SELECT FROM pg_cast x
   WHERE x.castsource = coalesce(b.oid, e.oid, t.oid) AND x.casttarget = o.opcintype AND x.castmethod = 'b'
   AND x.castcontext = 'i')))`

// contents asks a database for its objects, and for what is to be said of them.
const contents = `SELECT 'table', format('%I.%I', n.nspname, c.relname) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND` + made + `
UNION ALL SELECT 'sequence', format('%I.%I', n.nspname, c.relname) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' AND c.relpersistence = 'p' AND` + made + `
UNION ALL SELECT 'view', format('%I.%I', n.nspname, c.relname) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' AND c.relispopulated AND` + made + `
UNION ALL SELECT 'left', format('what changes in the materialized view %I.%I after the copy: REFRESH MATERIALIZED VIEW '
  '%I.%I after the cut over', n.nspname, c.relname, n.nspname, c.relname) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' AND c.relispopulated AND` + made + `
UNION ALL SELECT 'extension', extname FROM pg_extension
UNION ALL SELECT 'unfit', CASE WHEN unlike IS NULL THEN format('the table %I.%I has no primary key, or one that is '
  'deferrable: ALTER TABLE %I.%I REPLICA IDENTITY FULL, or give it one', n.nspname, c.relname, n.nspname, c.relname)
  ELSE format('the table %I.%I has no primary key, or one that is deferrable, and values of its column %I can not be '
  'compared: give it a primary key', n.nspname, c.relname, unlike) END FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN LATERAL (` + incomparable + `) u ON true
  WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND` + made + `
  AND (c.relreplident <> 'f' OR unlike IS NOT NULL) AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid
   AND i.indimmediate AND i.indisvalid
   AND CASE WHEN c.relreplident IN ('d', 'f') THEN i.indisprimary ELSE c.relreplident = 'i' AND i.indisreplident END)
UNION ALL SELECT 'unfit', format('it holds %s large objects, which logical replication does not carry: move them '
  'into a table, or take them out with lo_unlink', count(*)) FROM pg_largeobject_metadata HAVING count(*) > 0
UNION ALL SELECT 'unfit', format('the trigger %I of %I.%I is ENABLE ALWAYS or REPLICA, and would act a second time '
  'here: ALTER TABLE %I.%I ENABLE TRIGGER %I', t.tgname, n.nspname, c.relname, n.nspname, c.relname, t.tgname)
  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE NOT t.tgisinternal AND t.tgenabled IN ('A', 'R') AND` + made + `
UNION ALL SELECT 'left', format('rows of the unlogged table %I.%I', n.nspname, c.relname) FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence = 'u' AND` + made + `
UNION ALL SELECT 'left', format('the publication %I', pubname) FROM pg_publication
 WHERE NOT starts_with(pubname || '_', $own)
UNION ALL SELECT 'left', format('the subscription %I', subname) FROM pg_subscription s JOIN pg_database d
  ON d.oid = s.subdbid WHERE d.datname = current_database()
UNION ALL SELECT 'left', format('what was added to tables of the extension %I', extname) FROM pg_extension
  WHERE extconfig IS NOT NULL
ORDER BY 1, 2`

// Survey asks the source what it holds. Own is how names begin that this cluster gave there, major the version of this
// cluster's servers, most how many databases they can follow.
func (s Source) Survey(ctx context.Context, own string, major, most int) (Survey, error) {
	var out Survey
	databases, err := s.surveyServer(ctx, &out, own, major)
	if err != nil {
		return out, err
	}
	for _, d := range databases {
		if err := s.surveyDatabase(ctx, &out, own, d); err != nil {
			return out, err
		}
	}
	if len(out.Databases) > most {
		out.Unfit = append(out.Unfit, fmt.Sprintf("it has %d databases, and a server here follows %d at once: raise "+
			"max_logical_replication_workers", len(out.Databases), most))
	}
	slices.Sort(out.Extensions)
	out.Extensions = slices.Compact(out.Extensions)
	return out, nil
}

func (s Source) surveyServer(ctx context.Context, out *Survey, own string, major int) ([]Database, error) {
	got, err := s.once(ctx, Maintenance, strings.ReplaceAll(server, "$own", local.Literal(own)))
	if err != nil {
		return nil, err
	}
	row := got[0][0]
	n := make([]int64, len(row))
	for i, text := range row {
		n[i], _ = strconv.ParseInt(text, 10, 64) // some are no numbers
	}
	out.Release, out.Bytes = row[1], n[7]
	unfit := func(when bool, format string, args ...any) {
		if when {
			out.Unfit = append(out.Unfit, fmt.Sprintf(format, args...))
		}
	}
	out.agent = row[8] == "t"
	for _, left := range got[2] {
		out.Left = append(out.Left, left[0])
	}
	unfit(n[0] < oldest, "it is PostgreSQL %s, and only %d and later can be followed", row[1], oldest)
	unfit(n[0] > int64(major) && !s.Kept, "it is PostgreSQL %s, and this cluster is the older %d", row[1], major)
	unfit(row[2] == "t", "it is a replica, and a cut over ends writes at the primary: name that")
	unfit(row[3] != "logical", "its wal_level is %s: set it to logical, which takes a restart there", row[3])
	unfit(row[4] != "t", "the user %q is no superuser, who alone may read all and close its databases", s.user())
	var databases []Database
	for _, d := range got[1] {
		if d[3] == "t" {
			unfit(true, "its database %q was dropped only in part: DROP DATABASE %s", d[0], local.Identifier(d[0]))
			continue
		}
		unfit(d[2] != "t", "its database %q lets nobody in: ALTER DATABASE %s ALLOW_CONNECTIONS true, or drop it", d[0],
			local.Identifier(d[0]))
		if d[2] == "t" {
			databases = append(databases, Database{Name: d[0], OID: d[1], Collate: d[4], Ctype: d[5]})
		}
	}
	// Each takes one slot and one sender for good, and two more while a database is copied.
	need := int64(len(databases))
	if !s.Kept {
		need += syncWorkers
	}
	unfit(n[5] < need, "%d slots are free there, and %d are needed: raise max_replication_slots", n[5], need)
	unfit(n[6] < need, "%d senders are free there, and %d are needed: raise max_wal_senders", n[6], need)
	return databases, nil
}

// syncWorkers is how many tables are copied at once: the default of max_sync_workers_per_subscription.
const syncWorkers = 2

func (s Source) surveyDatabase(ctx context.Context, out *Survey, own string, d Database) error {
	got, err := s.once(ctx, d.Name, strings.ReplaceAll(contents, "$own", local.Literal(own))+"; "+schema)
	if err != nil {
		return err
	}
	var unfit, left, extensions []string
	for _, row := range got[0] {
		switch row[0] {
		case "table":
			d.Tables = append(d.Tables, row[1])
		case "sequence":
			d.Sequences = append(d.Sequences, row[1])
		case "view":
			d.Views = append(d.Views, row[1])
		case "extension":
			extensions = append(extensions, row[1])
		case "unfit":
			unfit = append(unfit, fmt.Sprintf("database %q: %s", d.Name, row[1]))
		case "left":
			left = append(left, row[1]+fmt.Sprintf(" in the database %q", d.Name))
		}
	}
	if d.Name == Maintenance && len(d.Tables)+len(d.Sequences)+len(unfit) == 0 {
		return nil
	}
	if d.Name == Maintenance && out.agent {
		out.Unfit = append(out.Unfit, fmt.Sprintf("its database %q holds tables or sequences, and its agent needs that one "+
			"open: move them to another database", d.Name))
	}
	d.Schema = sums(got[1])
	out.Databases = append(out.Databases, d)
	out.Unfit, out.Left = append(out.Unfit, unfit...), append(out.Left, left...)
	out.Extensions = append(out.Extensions, extensions...)
	return nil
}

// once opens a session for one message.
func (s Source) once(ctx context.Context, database, statements string) ([][][]string, error) {
	c, err := s.Open(ctx, database)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Ask(ctx, statements)
}

func (s Source) user() string {
	if s.User == "" {
		return defaultUser
	}
	return s.User
}
