//go:build e2e

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// application is a client that trusts the authority of the cluster db, checks the name of its service, and prints each
// number that was acknowledged with the moment and the major version of the server.
const application = `
apiVersion: v1
kind: Pod
metadata: {name: application}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, fsGroup: 999, seccompProfile: {type: RuntimeDefault}}
  volumes: [{name: tls, secret: {secretName: db-client-tls, items: [{key: ca.crt, path: ca.crt}]}}]
  containers:
  - name: client
    image: %s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: tls, mountPath: /tls}]
    env:
    - {name: PGHOST, value: db-client}
    - {name: PGDATABASE, value: app}
    - {name: PGUSER, valueFrom: {secretKeyRef: {name: db-user-client, key: username}}}
    - {name: PGPASSWORD, valueFrom: {secretKeyRef: {name: db-user-client, key: password}}}
    - {name: PGSSLMODE, value: verify-full}
    - {name: PGSSLROOTCERT, value: /tls/ca.crt}
    - {name: PGCONNECT_TIMEOUT, value: "2"}
    command:
    - sh
    - -c
    - |
      until psql -q -c 'CREATE TABLE IF NOT EXISTS written (n bigserial PRIMARY KEY)'; do sleep 1; done
      while :; do psql -qAt -c "INSERT INTO written DEFAULT VALUES RETURNING n, floor(extract(julian FROM
      clock_timestamp()) * 86400000)::bigint, current_setting('server_version_num')::int / 10000" || sleep 0.05; done
`

// written is one acknowledged row.
type written struct {
	n, major int
	at       time.Duration
}

// acknowledged reads what the application printed.
func (s *scene) acknowledged() []written {
	s.Helper()
	var out []written
	for line := range strings.Lines(s.kubectl("logs", "application")) {
		var w written
		var at int64
		if n, _ := fmt.Sscanf(strings.ReplaceAll(line, "|", " "), "%d %d %d", &w.n, &at, &w.major); n == 3 {
			w.at = time.Duration(at) * time.Millisecond
			out = append(out, w)
		}
	}
	return out
}

// pausedWithin bounds how long nobody may write. Five seconds are promised; the processors here are shared with all
// that the test runs.
const pausedWithin = 15 * time.Second

// moved waits until the application writes to a major version, says for how long nobody could write, and compares.
func (s *scene) moved(to int, at string) {
	s.Helper()
	if gap := s.movedTo(to, at); gap > pausedWithin {
		s.Errorf("nobody could write for %s", gap)
	}
}

// movedTo returns for how long nobody could write.
func (s *scene) movedTo(to int, at string) time.Duration {
	s.Helper()
	var rows []written
	for deadline := time.Now().Add(time.Minute); ; {
		rows = s.acknowledged()
		if len(rows) > 20 && rows[len(rows)-20].major == to {
			break
		}
		if time.Now().After(deadline) {
			s.Fatalf("the application does not write to version %d: %d rows, %s", to, len(rows),
				s.kubectl("logs", "application", "--tail=5"))
		}
		time.Sleep(time.Second)
	}
	var gap time.Duration
	for i := 1; i < len(rows); i++ {
		if rows[i].major != rows[i-1].major {
			gap = rows[i].at - rows[i-1].at
		}
	}
	there := map[string]bool{}
	r := s.must("connect", at, "--", "-qAt", "-d", "app", "-c", "SELECT n FROM written")
	for row := range strings.FieldsSeq(r.Stdout) {
		there[row] = true
	}
	for _, w := range rows {
		if !there[strconv.Itoa(w.n)] {
			s.Errorf("row %d was acknowledged by version %d, and is not in %s", w.n, w.major, at)
		}
	}
	s.Logf("%d rows were acknowledged, nobody could write for %s", len(rows), gap)
	if gap <= 0 {
		s.Errorf("the application never changed its server")
	}
	return gap
}

// apply starts the application, which writes to the cluster db.
func (s *scene) apply(image string) {
	s.Helper()
	manifest := filepath.Join(s.TempDir(), "application.yaml")
	s.ok(os.WriteFile(manifest, fmt.Appendf(nil, application, image), 0o600))
	s.kubectl("apply", "-f", manifest)
	s.kubectl("wait", "--for=condition=Ready", "pod/application", "--timeout=60s")
}

// dies has the tool kill itself at a step.
func (s *scene) dies(at string, args ...string) {
	s.Helper()
	c := s.site.CLI(s.TempDir(), map[string]string{"DBOP_TEST_DIE_AT": at})
	r, err := c.Run(s.ctx, append([]string{"-n", s.ns}, args...)...)
	s.ok(err)
	if !r.Killed() {
		s.Fatalf("it was not killed at %s:\n%s", at, r)
	}
}

// TestUpgradeOnline moves a cluster to the next major version and back, while an application writes that knows nothing
// of it: same service, same password, same authority. The tool is killed in each stage, and the same command goes on.
func TestUpgradeOnline(t *testing.T) {
	s := newScene(t, "online")
	from, to := s.releases(17)[0], s.releases(18)[0]
	s.create(from, "1", "--config", "wal_level=logical")
	s.apply(from.Image)
	upgrade := []string{"upgrade", "db", "--online", "--version", to.Version, "--image", to.Image}
	s.dies("after:start-members", upgrade...)
	s.refused(2, "--yes", upgrade...) // all but the cut over needs no answer
	if r := s.must("status", "db-v18"); !strings.Contains(r.Stdout, "it takes no writes") {
		t.Errorf("the second cluster does not follow:\n%s", r.Stdout)
	}
	now := append(upgrade, "--yes")
	s.dies("before:cut-over", now...)
	s.dies("after:create-services", now...)
	s.must(now...)
	s.moved(18, "db-v18")
	if r := s.must("status", "db"); !strings.Contains(r.Stdout, "sent to db-v18") {
		t.Errorf("status does not tell where the clients are:\n%s", r.Stdout)
	}
	back := []string{"upgrade", "db", "--online", "--back", "--into", "db-v18", "--yes"}
	s.dies("after:cut-over", back...)
	s.must(back...)
	s.moved(17, "db")
	s.healthy(1)
}
