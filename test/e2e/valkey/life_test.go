//go:build e2e

package valkey

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/scene"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// TestLife takes three members of Valkey through their days while a client writes: with strict durability they lose
// nothing that a replica confirmed, and change to another series.
func TestLife(t *testing.T) {
	s := scene.New(t, "life")
	before, after := release(s, "valkey", 8), release(s, "valkey", 9)
	create(s, "valkey", before, "3", "--config", "durability=strict")
	w := s.Writes(s.Site.StartValkeyWriter(s.Ctx, s.NS, "db", "valkey", before.Image, ""))

	first, began := s.Member("primary"), time.Now()
	s.Must("switchover", "db")
	w.MustGoOn("switchover", began)
	if now := s.Member("primary"); now == first {
		t.Errorf("%s is still the primary", now)
	}
	began = time.Now()
	s.Kill(s.Member("primary"), true)
	w.MustGoOn("the primary's pod was force-deleted", began)
	s.Healthy(3)

	s.Must("configure", "db", "--set", "maxmemory=60mb", "--set", "maxmemory-policy=noeviction")
	s.Refused(4, "must be a memory value", "configure", "db", "--set", "maxmemory=lots")
	if got := command(s, "CONFIG", "GET", "maxmemory"); !slices.Contains(got, "62914560") {
		t.Errorf("maxmemory is %q", got)
	}
	if r := s.Must("configure", "db"); !regexp.MustCompile(`(?m)^maxmemory-policy +noeviction +you +noeviction +volatile-lru, `).
		MatchString(r.Stdout) {
		t.Errorf("the policy is not listed:\n%s", r.Stdout)
	}
	if r := s.Must("status", "db"); !strings.Contains(r.Stdout, "/60Mi noeviction") {
		t.Errorf("status does not tell the memory:\n%s", r.Stdout)
	}
	s.RenewsAgents(w, 3)
	s.Must("certificates", "rotate", "db", "--yes")
	if r := s.Must("certificates", "show", "db"); strings.Count(r.Stdout, " served\n") != 3 {
		t.Errorf("renewed certificates are not served:\n%s", r.Stdout)
	}
	began = time.Now()
	s.Must("upgrade", "db", "--version", after.Version, "--image", after.Image, "--skip-backup")
	w.MustGoOn("upgrade", began)
	if got := command(s, "INFO", "server"); !slices.Contains(got, "valkey_version:"+after.Version) {
		t.Errorf("the primary runs %q", got)
	}
	s.Refused(4, "can't be read by", "downgrade", "db", "--version", before.Version, "--image", before.Image)
	w.Check(func() []string { return command(s, "SMEMBERS", "written") })
	s.Must("delete", "db", "--skip-backup", "--purge", "--yes")
}

// TestPair: two members of Redis have a witness, survive the loss of their primary, and grow without it. The first
// release knows less than the others.
func TestPair(t *testing.T) {
	s := scene.New(t, "pair")
	r := release(s, "redis", 7)
	create(s, "redis", r, "2")
	s.Member("witness")
	w := s.Writes(s.Site.StartValkeyWriter(s.Ctx, s.NS, "db", "redis", r.Image, ""))
	for range 6 { // through the witness as well
		asked(s)
	}
	began := time.Now()
	s.Kill(s.Member("primary"), false)
	w.MustGoOn("the pod of the primary was deleted, and came back to confirm writes", began)
	s.Healthy(2)

	began = time.Now()
	s.Must("user", "create", "db", "alice", "--prefix", "sales")
	s.Must("user", "rotate", "db", "alice")
	s.Must("user", "delete", "db", "alice", "--yes")
	w.MustGoOn("users were made, changed and deleted", began)
	s.Must("configure", "db", "--set", "databases=20")
	if got := command(s, "CONFIG", "GET", "databases"); !slices.Contains(got, "20") {
		t.Errorf("databases is %q", got)
	}
	s.Must("scale", "db", "--members", "3", "--yes")
	s.Healthy(3)
	w.Check(func() []string { return command(s, "SMEMBERS", "written") })
	s.Must("stop", "db", "--yes")
	s.Must("start", "db")
	s.Healthy(3)
}

// TestRefusals: what these engines can't do, they say before anything is changed.
func TestRefusals(t *testing.T) {
	s := scene.New(t, "refusals")
	for _, family := range []string{"valkey", "redis"} {
		r := release(s, family, 8)
		of := []string{"create", "db", "--engine", family, "--version", r.Version, "--image", r.Image}
		for words, more := range map[string][]string{
			"know each other by their certificates": {"--no-tls"},
			"can't be changed":                      {"--config", "appendonly=no"},
			"durability is":                         {"--config", "durability=perhaps"},
			"are not between 1 and 9":               {"--members", "11"},
			"is older than":                         {"--version", "6.2.1"},
		} {
			s.Refused(4, words, slices.Concat(of, more)...)
		}
	}
}

// asked asks an agent for the primary as clients of Sentinel do, from the pod of the writer.
func asked(s *scene.Scene) {
	s.Helper()
	const ask = `$CLI --tls --cacert /tls/ca.crt -h $HOST -p 26379 --user "$NAME" --no-auth-warning ` +
		`SENTINEL get-master-addr-by-name db`
	want := s.Member("primary") + "-0.db." + s.NS + ".svc\n6379"
	// The agent of a replica learns of a new user when its server has it.
	deadline := time.Now().Add(5 * time.Second)
	for {
		got := kubectl(s, "exec", "db-writer", "--", "sh", "-c", ask)
		if got == want {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("clients of Sentinel are told %q, want %q", got, want)
		}
	}
}

// release is the newest of a major version.
func release(s *scene.Scene, family string, major int) harness.Release {
	s.Helper()
	found, err := harness.Releases(family, major)
	s.OK(err)
	return found[0]
}

// create makes the cluster db of a release.
func create(s *scene.Scene, family string, r harness.Release, members string, more ...string) {
	s.Helper()
	s.Must(append([]string{"create", "db", "--engine", family, "--version", r.Version, "--image", r.Image,
		"--members", members, "--storage", "1Gi"}, more...)...)
}

// command asks the primary, and returns the lines of its answer.
func command(s *scene.Scene, args ...string) []string {
	s.Helper()
	return strings.Fields(s.Must(append([]string{"connect", "db", "--"}, args...)...).Stdout)
}
