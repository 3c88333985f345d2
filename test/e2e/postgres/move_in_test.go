//go:build e2e

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// outside is a server that something else made, with a client that writes to it as its superuser and prints each number
// that was acknowledged.
const outside = `
apiVersion: v1
kind: Secret
metadata: {name: outside}
stringData: {password: of-the-outside}
---
apiVersion: v1
kind: Pod
metadata: {name: outside, labels: {app: outside}}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: server
    image: %[1]s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    env: [{name: PGPASSWORD, valueFrom: {secretKeyRef: {name: outside, key: password}}}]
    command:
    - sh
    - -ec
    - |
      PATH=$PATH:/usr/lib/postgresql/%[2]d/bin
      echo "$PGPASSWORD" >/tmp/password
      initdb --pgdata=/tmp/data --username=postgres --auth=scram-sha-256 --pwfile=/tmp/password
      echo 'host all all all scram-sha-256' >>/tmp/data/pg_hba.conf
      exec postgres -D /tmp/data -c wal_level=logical -c 'listen_addresses=*' -c unix_socket_directories=/tmp
    readinessProbe: {exec: {command: [psql, -h, /tmp, -U, postgres, -c, SELECT]}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {selector: {app: outside}, ports: [{port: 5432}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: %[1]s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    env:
    - {name: PGPASSWORD, valueFrom: {secretKeyRef: {name: outside, key: password}}}
    - {name: PGCONNECT_TIMEOUT, value: "2"}
    command:
    - sh
    - -c
    - |
      until psql -h outside -U postgres -c 'CREATE DATABASE app'; do sleep 1; done
      until psql -h outside -U postgres -d app -c 'CREATE TABLE IF NOT EXISTS written (n bigserial PRIMARY KEY)' -c \
        'CREATE UNLOGGED TABLE IF NOT EXISTS odd (a int)'; do sleep 1; done
      while :; do psql -h outside -U postgres -d app -qAt -c 'INSERT INTO written DEFAULT VALUES RETURNING n' ||
      sleep 0.1; done
`

// TestMoveIn moves from a PostgreSQL that something else made to a cluster of a later major version, while a client
// writes to it. Every write that it acknowledged is there after the cut over.
func TestMoveIn(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it; in every run TestUpgradeOnline follows and cuts over, and agents " +
			"move in as plain processes")
	}
	s := newScene(t, "move-in")
	from, to := s.releases(15)[0], s.releases(17)[0]
	manifest := filepath.Join(t.TempDir(), "manifest.yaml")
	s.ok(os.WriteFile(manifest, []byte(fmt.Sprintf(outside, from.Image, from.Major)), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.kubectl("wait", "--for=condition=Ready", "pod/outside", "pod/client", "--timeout=60s")
	move := []string{"--from-primary", "outside:5432", "--from-secret", "outside"}
	s.create(to, "3", move...)
	s.healthy(3)
	r := s.must("status", "db")
	for _, words := range []string{"it takes no writes", "follows outside:5432", "rows of the unlogged table public.odd",
		"plan cutover db"} {
		if !strings.Contains(r.Stdout, words) {
			t.Errorf("status does not tell %q:\n%s", words, r.Stdout)
		}
	}
	r = s.must("cutover", "db")
	if !strings.Contains(r.Stdout, "nobody could write for") || !strings.Contains(r.Stdout, "lets nobody in") {
		t.Errorf("what the cut over came to is not told:\n%s", r.Stdout)
	}
	t.Log(strings.TrimSpace(r.Stdout))
	s.refused(4, "follows no other server", "cutover", "db")
	there := map[string]bool{}
	for row := range strings.FieldsSeq(s.sql("SELECT n FROM written")) {
		there[row] = true
	}
	rows := 0
	for line := range strings.Lines(s.kubectl("logs", "client")) {
		row := strings.TrimSpace(line)
		if strings.Trim(row, "0123456789") != "" {
			continue // what psql says
		}
		rows++
		if !there[row] {
			t.Errorf("the write %s was acknowledged, and is not there", row)
		}
	}
	t.Logf("%d writes were acknowledged", rows)
	if got := s.sql("INSERT INTO written DEFAULT VALUES RETURNING n"); there[got] || rows == 0 {
		t.Errorf("the sequence gives %s again, or none of %d rows was written", got, rows)
	}
	s.kubectl("delete", "pod", s.primary()+"-0", "--grace-period=0", "--force")
	s.healthy(3)
	s.sql("INSERT INTO written DEFAULT VALUES")
}

// TestMoveInMajor moves from a cluster to one of a later major version, by the address and with the secret that people
// have of it. The former one goes on as a cluster that lets nobody into its database.
func TestMoveInMajor(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=postgres runs it: TestUpgradeOnline goes the same way")
	}
	s := newScene(t, "move-in-major")
	from, to := s.releases(17)[0], s.releases(18)[0]
	s.create(from, "1")
	s.sql("CREATE TABLE written (n bigserial PRIMARY KEY, by text DEFAULT current_user)")
	s.must("configure", "db", "--set", "wal_level=logical", "--allow-downtime")
	s.must("create", "next", "--engine", "postgres", "--version", to.Version, "--image", to.Image, "--members", "1",
		"--storage", "1Gi", "--from-primary", "db-client:5432", "--from-user", "root", "--from-secret", "db-root")
	s.sql("INSERT INTO written DEFAULT VALUES")
	r := s.must("cutover", "next")
	t.Log(strings.TrimSpace(r.Stdout))
	got := s.must("connect", "next", "--", "-qAt", "-d", "app", "-c",
		"INSERT INTO written DEFAULT VALUES RETURNING n, current_setting('server_version_num')::int / 10000")
	if strings.TrimSpace(got.Stdout) != "2|18" {
		t.Errorf("the next row is %q", got.Stdout)
	}
	if r := s.try("connect", "db", "--", "-d", "app", "-c", "SELECT"); r.Code == 0 {
		t.Error("the former cluster lets somebody in")
	}
	s.healthy(1)
}
