//go:build e2e

package postgres

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
)

// TestLife takes a cluster through its days while a client writes: it loses no row that was acknowledged.
func TestLife(t *testing.T) {
	s := newScene(t, "life")
	releases := s.releases(15)
	old, latest := releases[len(releases)-1], releases[0]
	s.create(old, "3")
	w := s.write(old)

	first, before := s.primary(), time.Now()
	s.must("hold", "db", "--for", "1h", "--because", "work on the network")
	if r := s.must("status", "db"); !strings.Contains(r.Stdout, `because "work on the network"`) {
		t.Errorf("status does not tell of the hold:\n%s", r.Stdout)
	}
	s.refused(4, "a hold is in force for 1h0m0s", "switchover", "db")
	s.must("hold", "db", "--end")
	s.must("switchover", "db")
	w.goesOn("clients write after a switchover")
	if now := s.primary(); now == first {
		t.Errorf("%s is still the primary", now)
	}
	t.Logf("switchover: no row was acknowledged for %s", w.gap(before))

	second, before := s.primary(), time.Now()
	s.ok(s.site.Client.CoreV1().Pods(s.ns).Delete(s.ctx, second+"-0",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	w.goesOn("clients write after the primary's pod was force-deleted")
	t.Logf("force-deleted pod: no row was acknowledged for %s", w.gap(before))
	s.healthy(3)

	s.must("configure", "db", "--set", "work_mem=9MB")
	s.refused(4, "invalid value for parameter", "configure", "db", "--set", "work_mem=much")
	s.refused(4, `could not access file "nosuch"`, "configure", "db", "--set", "shared_preload_libraries=nosuch")
	s.must("configure", "db", "--set", "max_connections=120")
	if got := s.sql("SELECT current_setting('work_mem') || current_setting('max_connections')"); got != "9MB120" {
		t.Errorf("work_mem and max_connections are %q", got)
	}
	if r := s.must("configure", "db"); !regexp.MustCompile(`(?m)^work_mem +9MB +you +4MB +64kB to `).MatchString(r.Stdout) {
		t.Errorf("work_mem is not listed:\n%s", r.Stdout)
	}
	s.sql("ALTER SYSTEM SET work_mem = '77MB'")
	s.sql("ALTER SYSTEM SET statement_timeout = '5min'")
	s.must("configure", "db", "--set", "work_mem=8MB")
	if got := s.sql("SHOW work_mem"); got != "8MB" {
		t.Errorf("work_mem is %s", got)
	}
	if r := s.must("repair", "db"); !strings.Contains(r.Stderr, "alone: statement_timeout") {
		t.Errorf("what ALTER SYSTEM wrote is not taken back:\n%s", r)
	}
	if latest.Version != old.Version {
		before = time.Now()
		s.must("upgrade", "db", "--version", latest.Version, "--image", latest.Image, "--skip-backup")
		w.goesOn("clients write after an upgrade")
		t.Logf("upgrade: no row was acknowledged for %s", w.gap(before))
		if got := s.sql("SHOW server_version"); !strings.HasPrefix(got, latest.Version) {
			t.Errorf("the primary runs %s", got)
		}
	}
	s.healthy(3)
	s.must("member", "replace", "db", s.replica(), "--force", "--yes")
	s.healthy(3)
	w.check()
	s.must("stop", "db", "--yes")
	s.must("start", "db")
	s.healthy(3)
	if r := s.must("inspect", "db"); !strings.Contains(r.Stdout, "all 3 are healthy") {
		t.Errorf("a cluster of this tool's is not inspected:\n%s", r)
	}
	if torture.Full() { // agents that are plain processes recover in make agents
		s.recovers()
	}
	s.must("delete", "db", "--skip-backup", "--purge", "--yes")
}

// TestPair: a pair has a witness and survives the loss of its primary, and grows without it. Its service leads clients
// straight to the primary.
func TestPair(t *testing.T) {
	s := newScene(t, "pair")
	release := s.releases(17)[0]
	s.create(release, "2", "--routing", "direct")
	if r := s.must("status", "db"); !strings.Contains(r.Stdout, " witness ") {
		t.Errorf("there is no witness:\n%s", r.Stdout)
	}
	w := s.write(release)
	first, before := s.primary(), time.Now()
	s.ok(s.site.Client.CoreV1().Pods(s.ns).Delete(s.ctx, first+"-0", metav1.DeleteOptions{}))
	w.goesOn("clients write after the pod of the primary was deleted")
	t.Logf("deleted pod: no row was acknowledged for %s", w.gap(before))
	s.healthy(2)
	s.leads()
	s.lowers(w)

	s.must("user", "create", "db", "alice", "--database", "sales")
	if r := s.must("user", "list", "db"); !strings.Contains(r.Stdout, "alice") {
		t.Errorf("alice is not listed:\n%s", r.Stdout)
	}
	s.must("user", "rotate", "db", "alice")
	s.must("user", "rotate", "db", "client")
	w.goesOn("clients with the former password write")
	s.must("certificates", "rotate", "db", "--yes")
	if r := s.must("certificates", "show", "db"); strings.Count(r.Stdout, " served\n") != 3 {
		t.Errorf("renewed certificates are not served:\n%s", r.Stdout)
	}
	w.goesOn("the certificates were renewed")
	s.must("scale", "db", "--members", "3", "--yes")
	s.healthy(3)
	if r := s.must("status", "db"); strings.Contains(r.Stdout, " witness ") {
		t.Errorf("three members need no witness:\n%s", r.Stdout)
	}
	before = time.Now()
	s.must("configure", "db", "--routing", "proxied")
	w.goesOn("the agents pass clients on")
	t.Logf("another way of clients: no row was acknowledged for %s", w.gap(before))
	if got := s.kubectl("get", "service,role", "db-client", "db-agents", "--ignore-not-found", "-o",
		`jsonpath={.items[*].spec.selector.dbop\.dev/member}{.items[*].rules}`); got != "" {
		t.Errorf("an agent may still lead clients: %s", got)
	}
	w.check()
}

// TestRefusals: what this engine can't do, it says before anything is changed.
func TestRefusals(t *testing.T) {
	s := newScene(t, "refusals")
	release := s.releases(18)[0]
	version := []string{"--version", release.Version, "--image", release.Image, "--engine", "postgres"}
	for words, more := range map[string][]string{
		"know each other by their certificates": {"--no-tls"},
		"can't be changed":                      {"--config", "fsync=off"},
		"durability is":                         {"--config", "durability=perhaps"},
		"are not between 1 and 9":               {"--members", "11"},
	} {
		s.refused(4, words, append(append([]string{"create", "db"}, version...), more...)...)
	}
	s.initialSQL("CREATE TABLE orders (n int);\nCREATE TABEL customers (n int);")
	begin := slices.Concat([]string{"create", "db", "--members", "1", "--storage", "1Gi", "--database", "shop", "--owner",
		"seller", "--initial-sql", "schema"}, version)
	wrong := s.try(append(slices.Clone(begin), "--config", "work_memm=8MB", "--timeout", "20s")...)
	if wrong.Code == 0 || !strings.Contains(wrong.Stderr, "it corrects them first") {
		t.Errorf("a server with a setting that it does not know:\n%s", wrong)
	}
	s.refused(4, `line 2: syntax error at or near "TABEL"`, begin...) // without that setting
	tables := []string{"connect", "db", "--", "-At", "-d", "shop", "-c", `SELECT tablename, tableowner FROM pg_tables
 WHERE schemaname = 'public'`}
	if got := s.must(tables...).Stdout; got != "" {
		t.Errorf("SQL that failed leaves %s", got)
	}
	// A new operation takes the place of one whose record is lost, and what it left out is told until then.
	s.ok(s.site.Client.CoreV1().ConfigMaps(s.ns).DeleteCollection(s.ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "dbop.dev/kind=operation"}))
	if r := s.try("status", "db"); !strings.Contains(r.Stdout, "its users and its initial SQL may be missing") {
		t.Errorf("the status does not tell that the creation is not finished:\n%s", r)
	}
	s.refused(4, `line 2: syntax error at or near "TABEL"`, begin...)
	s.initialSQL("CREATE TABLE orders (n int)")
	s.must(begin...)
	if got := s.must(tables...).Stdout; got != "orders|dbop_owner_shop\n" {
		t.Errorf("there is %q", got)
	}
	if r := s.must(begin...); !strings.Contains(r.Stdout, "unchanged") {
		t.Errorf("a repeat does something:\n%s", r)
	}
	s.refused(4, "option work_mem is not set there, and 9MB is asked for",
		append(slices.Clone(begin), "--config", "work_mem=9MB")...)
	s.healthy(1)
}

// initialSQL writes SQL into the secret that new clusters are given.
func (s *scene) initialSQL(statements string) {
	s.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "schema"},
		StringData: map[string]string{"a.sql": statements}}
	secrets := s.site.Client.CoreV1().Secrets(s.ns)
	if _, err := secrets.Create(s.ctx, secret, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
		s.ok(err)
	}
}

// replica is a member that does not lead.
func (s *scene) replica() string {
	s.Helper()
	for line := range strings.Lines(s.try("status", "db").Stdout) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "replica" {
			return f[0]
		}
	}
	s.Fatal("there is no replica")
	return ""
}

// lowers has all servers of a cluster take a lower value of a setting that a replica must have as high as its primary.
func (s *scene) lowers(w *writer) {
	s.Helper()
	before := time.Now()
	s.must("configure", "db", "--set", "max_connections=60")
	w.goesOn("clients write after a setting was lowered")
	s.Logf("lower max_connections: no row was acknowledged for %s", w.gap(before))
	for range 2 {
		if got := s.sql("SHOW max_connections"); got != "60" {
			s.Errorf("%s has room for %s connections, want 60", s.primary(), got)
		}
		s.must("switchover", "db")
		s.healthy(2)
	}
}
