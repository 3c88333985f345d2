//go:build e2e

package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// pgBandwidth makes a base backup of PostgreSQL, some megabytes, take half a minute.
	pgBandwidth = "192Ki"
	// intoIt is how long a backup is at work before something befalls its source.
	intoIt = 3 * time.Second
	// repeatedWithin bounds the repeats of a backup that was refused.
	repeatedWithin = 4 * time.Minute
)

// befalls is what happens to a cluster while a backup of it is taken.
var befalls = []struct {
	name string
	do   func(s *scene, source string)
}{
	{"leader deleted", func(s *scene, _ string) { s.kubectl("delete", "pod", s.leader()+"-0", "--wait=false") }},
	{"leader deleted by force", func(s *scene, _ string) { s.kill(s.leader()) }},
	{"source lost with its volume", func(s *scene, source string) {
		s.kubectl("delete", "pvc", source, "--wait=false")
		s.kill(source)
	}},
}

// TestSource has the leader change, and the member that a backup reads from lost, while a Job takes the backup into a
// store. It ends in a whole backup, or in a refusal after which the same command makes one. What is restored is what
// was written before.
func TestSource(t *testing.T) {
	if !torture.Full() {
		t.Skip("make torture ENGINE=objectstore runs it")
	}
	results := &torture.Ledger{}
	t.Cleanup(func() { results.Write(t) })
	for _, engine := range []string{"etcd", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			s := newScene(t, "source")
			var cancel context.CancelFunc
			s.ctx, cancel = context.WithTimeout(context.WithoutCancel(s.ctx), 2*testWithin)
			t.Cleanup(cancel)
			s.succeeded(s.add("main", "--new-key-file", s.file("key.txt")), "repository add")
			s.succeeded(s.add("main", "--identity-file", s.file("key.txt")), "repository add --identity-file")
			contents, bandwidth := s.etcdSource, slowBandwidth
			if engine == "postgres" {
				contents, bandwidth = s.postgresSource, pgBandwidth
			}
			want := contents("my-db", true)
			for i, b := range befalls {
				row := torture.Row{Verb: "backups whose source is lost", Where: engine + ": " + b.name, Runs: 1, Gap: -1,
					Result: "FAILED"}
				s.succeeded(s.add("main", "--bandwidth", bandwidth), "repository add --bandwidth")
				end := s.during(b.do)
				s.succeeded(s.add("main", "--bandwidth", "0"), "repository add --bandwidth 0")
				row.Runs += s.again(end)
				if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout,
					"backup/"); n != i+1 {
					t.Errorf("%s: there are %d backups, and %d were asked for", b.name, n, i+1)
				}
				id := s.newest()
				s.must("restore", "my-copy", "--from", id, "--repository", "offsite", "--storage", "512Mi", "--members", "1")
				if got := contents("my-copy", false); got != want {
					t.Errorf("%s: what is restored is %s, want %s", b.name, got, want)
				}
				s.must("delete", "my-copy", "--purge", "--skip-backup", "--yes")
				if !t.Failed() {
					row.Result = fmt.Sprintf("ok, exit code %d", end.Code)
				}
				results.Add(row)
			}
		})
	}
}

// during takes a backup that is slow, has something befall its source meanwhile, and returns how the command ended.
func (s *scene) during(befall func(*scene, string)) harness.Result {
	s.Helper()
	source := s.source()
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	s.ok(harness.Until(s.ctx, time.Minute, "the pod of the backup", func(context.Context) error {
		if got := s.kubectl("get", "pods", "-l", "dbop.dev/purpose=backup", "-o",
			"jsonpath={.items[*].status.phase}"); got != "Running" {
			return fmt.Errorf("it is %q", got)
		}
		return nil
	}))
	time.Sleep(intoIt)
	if p.Ended() {
		s.Fatal("the backup was over before anything befell its source")
	}
	s.Logf("the source is %s", source)
	befall(s, source)
	r, err := p.Wait()
	s.ok(err)
	s.Logf("%s", r)
	if r.Code != 0 && !strings.Contains(r.Stderr, "error:") {
		s.Errorf("it ended without a reason:\n%s", r)
	}
	return r
}

// source is the member that a backup is to be read from.
func (s *scene) source() string {
	s.Helper()
	var plan struct {
		Steps []struct {
			Action  string   `json:"action"`
			Members []string `json:"members"`
		} `json:"steps"`
	}
	s.ok(json.Unmarshal([]byte(s.must("plan", "backup", "my-db", "--repository", "offsite", "-o", "json").Stdout), &plan))
	for _, step := range plan.Steps {
		if step.Action == "backup" && len(step.Members) == 1 {
			return step.Members[0]
		}
	}
	s.Fatalf("the plan names no source: %+v", plan)
	return ""
}

// again repeats a backup that was refused until there is one, replaces a member that lost its volume, and returns how
// often it typed the command.
func (s *scene) again(end harness.Result) (runs int) {
	s.Helper()
	s.ok(harness.Until(s.ctx, repeatedWithin, "the cluster to be whole, and the backup", func(context.Context) error {
		for _, m := range s.unfit() {
			if r := s.try("member", "replace", "my-db", m, "--yes"); r.Code != 0 {
				return fmt.Errorf("%s", r)
			}
		}
		if r := s.try("status", "my-db"); r.Code != 0 {
			return fmt.Errorf("%s", r)
		}
		if end.Code == 0 {
			return nil
		}
		runs++
		end = s.try("backup", "my-db", "--repository", "offsite")
		if end.Code != 0 {
			return fmt.Errorf("%s", end)
		}
		return nil
	}))
	return runs
}

// unfit are the members that have lost their volumes.
func (s *scene) unfit() (names []string) {
	s.Helper()
	claims := s.kubectl("get", "pvc", "-l", "dbop.dev/cluster=my-db", "-o", "jsonpath={.items[*].metadata.name}")
	for m := range strings.FieldsSeq(s.kubectl("get", "statefulsets", "-l", "dbop.dev/cluster=my-db", "-o",
		"jsonpath={.items[*].metadata.name}")) {
		if !strings.Contains(" "+claims+" ", " "+m+" ") {
			names = append(names, m)
		}
	}
	return names
}

// kill deletes the pod of a member by force.
func (s *scene) kill(member string) {
	s.Helper()
	s.ok(s.site.Client.CoreV1().Pods(s.ns).Delete(s.ctx, member+"-0",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

// leader is who leads, as status tells.
func (s *scene) leader() string {
	s.Helper()
	for line := range strings.Lines(s.try("status", "my-db").Stdout) {
		if f := strings.Fields(line); len(f) > 1 && (f[1] == "leader" || f[1] == "primary") {
			return f[0]
		}
	}
	s.Fatal("nobody leads")
	return ""
}

// etcdSource makes a cluster of etcd with keys where that is asked for, and tells what they are.
func (s *scene) etcdSource(cluster string, create bool) string {
	s.Helper()
	if create {
		s.must("create", cluster, "--engine", "etcd", "--version", "3.6", "--members", "3", "--storage", "512Mi")
	}
	db, err := s.site.DialEtcd(s.ctx, s.ns, cluster)
	s.ok(err)
	defer func() { _ = db.Close() }()
	if create {
		s.ok(harness.FillKeys(s.ctx, db, "kept/", slowKeys, slowValue))
	}
	have, err := harness.ReadAll(s.ctx, db, "kept/")
	s.ok(err)
	sum := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(have)) {
		fmt.Fprintf(sum, "%q=%q\n", k, have[k])
	}
	return fmt.Sprintf("%d keys, %x", len(have), sum.Sum(nil))
}

// postgresSource is etcdSource for PostgreSQL, with a table.
func (s *scene) postgresSource(cluster string, create bool) string {
	s.Helper()
	sql := func(statement string) string {
		s.Helper()
		r, err := s.cli.Run(s.ctx, "-n", s.ns, "connect", cluster, "--", "-At", "-d", "app", "-c", statement)
		s.ok(err)
		return strings.TrimSpace(s.succeeded(r, "connect").Stdout)
	}
	if create {
		found, err := harness.PostgresReleases(17)
		s.ok(err)
		s.must("create", cluster, "--engine", "postgres", "--version", found[0].Version, "--image", found[0].Image,
			"--members", "3", "--storage", "512Mi")
		sql("CREATE TABLE kept AS SELECT n, md5(n::text) AS word FROM generate_series(1, 20000) n")
	}
	return sql("SELECT count(*) || ' rows, ' || md5(string_agg(word, '' ORDER BY n)) FROM kept")
}
