package harness

import (
	"path/filepath"
	"strconv"
)

// PostgresRelease is a release of PostgreSQL.
type PostgresRelease struct{ Release }

// Bin is the directory of the release's programs below Root.
func (r PostgresRelease) Bin() string {
	return filepath.Join(r.Root, "usr", "lib", "postgresql", strconv.Itoa(r.Major), "bin")
}

// PostgresReleases lists the releases of a major version, the newest first. Of 15 there are two while a security update
// is out.
func PostgresReleases(major int) ([]PostgresRelease, error) {
	found, err := Releases("postgres", major)
	out := make([]PostgresRelease, len(found))
	for i, r := range found {
		out[i] = PostgresRelease{r}
	}
	return out, err
}

// Postgres returns the newest release of a major version.
func Postgres(major int) (PostgresRelease, error) {
	found, err := PostgresReleases(major)
	if err != nil {
		return PostgresRelease{}, err
	}
	return found[0], nil
}

// postgresScript inserts one row after the other by the service of clients, each over a connection of its own, as a
// program does that reconnects. It pauses, as such programs do, and for $PAUSE seconds if that is set:
// without that it keeps a processor busy. It tells of each connection that it did not get.
const postgresScript = `n=0; while :; do n=$((n+1))
if e=$(psql -qAt -c "INSERT INTO written VALUES ($n)" "$WAITS" 2>&1)
then echo "$n $(date +%s%N)"; else case "$e" in *"connection to server at"*failed:*)
echo "` + unconnected + ` $(date +%s%N) $e";; esac; fi; sleep ${PAUSE:-0.05}; done`

// postgresWaits end a session whose server is silent: a node that is cut off answers nothing, not even that it is gone.
const postgresWaits = "tcp_user_timeout=4000 keepalives_idle=2 keepalives_interval=1 keepalives_count=2"

// PostgresTable makes the table that a writer of PostgreSQL writes to, as the superuser in the database app.
const PostgresTable = "SET ROLE dbop_owner_app; CREATE TABLE written (n bigint PRIMARY KEY)"

// PostgresWriter is a writer to the table of PostgresTable. It proves the server's certificate.
func PostgresWriter(namespace, cluster, image string) PodWriterSpec {
	return PodWriterSpec{Namespace: namespace, Cluster: cluster, Image: image,
		Script: postgresScript, User: "PGUSER", Password: "PGPASSWORD",
		Env: map[string]string{"PGHOST": cluster + "-client." + namespace + ".svc", "PGDATABASE": "app",
			"WAITS": postgresWaits, "PGSSLMODE": "verify-full", "PGSSLROOTCERT": "/tls/ca.crt", "PGCONNECT_TIMEOUT": "2"}}
}
