//go:build e2e

package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/e2e/torture"
	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

const (
	// killRounds is how many backups are killed, and killWithin the longest time until one is.
	killRounds = 50
	killWithin = 9 * time.Second
	// killsWithin bounds all of them.
	killsWithin = 60 * time.Minute
	// killedKeys are 24 MiB, which go out at the bandwidth of the repository: most moments are in the middle of that.
	killedKeys, killedValue, killBandwidth = 2000, 12 << 10, "4Mi"
	killSection                            = "Backup by a Job, killed at random moments"
)

// A kill is what dies at the moment.
type kill struct {
	name                  string
	command, pod, process bool
}

var kills = [...]kill{
	{name: "the command", command: true},
	{name: "the pod, deleted by force", pod: true},
	{name: "the process in the pod", process: true},
	{name: "the command and the pod", command: true, pod: true},
	{name: "the command and the process", command: true, process: true},
}

// killed is what came of one kind of kill.
type killed struct{ seeds, runs, faster, alone int }

// TestKilledJobs kills pods of backups, the processes in them, and commands that wait for them, at random moments. The
// same command always ends with one whole backup more, which stock tools restore. DBOP_SEEDS=10-19 chooses a part.
func TestKilledJobs(t *testing.T) {
	if !torture.Full() {
		t.Skip("takes minutes, the long form has it: DBOP_TORTURE=all; TestTrouble kills one in every run")
	}
	first, last := 0, killRounds-1
	if part := os.Getenv("DBOP_SEEDS"); part != "" {
		if _, err := fmt.Sscanf(part, "%d-%d", &first, &last); err != nil {
			t.Fatalf("DBOP_SEEDS=%s: write FIRST-LAST: %v", part, err)
		}
	}
	s := newScene(t, "kills")
	ctx, cancel := context.WithTimeout(context.Background(), killsWithin)
	t.Cleanup(cancel)
	s.ctx = ctx
	s.succeeded(s.add("kills", "--new-key-file", s.file("key.txt"), "--bandwidth", killBandwidth), "repository add")
	s.succeeded(s.add("kills", "--identity-file", s.file("key.txt")), "repository add --identity-file")
	s.must("create", "my-db", "--engine", "etcd", "--version", "3.6", "--members", "1", "--storage", "512Mi")
	db, err := s.site.DialEtcd(s.ctx, s.ns, "my-db")
	s.ok(err)
	defer func() { _ = db.Close() }()
	s.ok(harness.FillKeys(s.ctx, db, "kept/", killedKeys, killedValue))
	var came [len(kills)]killed
	for seed := first; seed <= last; seed++ {
		s.ok(harness.FillKeys(s.ctx, db, fmt.Sprintf("seed-%d/", seed), 1, 16))
		s.killedAt(rand.New(rand.NewPCG(uint64(seed), uint64(seed))), seed, &came)
		if n := strings.Count(s.must("backup", "list", "--repository", "offsite", "-o", "name").Stdout,
			"backup/"); n != seed-first+1 {
			t.Fatalf("seed %d: there are %d backups, and %d were asked for", seed, n, seed-first+1)
		}
		if keys, want := s.whole(), killedKeys+seed-first+1; keys != want {
			t.Fatalf("seed %d: the backup holds %d keys, and the cluster %d", seed, keys, want)
		}
	}
	s.must("backup", "verify", s.newest(), "--repository", "offsite")
	if left := s.kubectl("get", "jobs", "-o", "name"); left != "" {
		t.Errorf("left %s", left)
	}
	var ledger torture.Ledger
	for i, c := range came {
		if c.seeds == 0 {
			continue
		}
		ledger.Add(torture.Row{Verb: killSection, Where: fmt.Sprintf("%s (%d seeds)", kills[i].name, c.seeds), Runs: c.runs,
			Gap: -1, Result: fmt.Sprintf("ok: %d were over before, %d went on by themselves, %d typed again", c.faster, c.alone,
				c.seeds-c.faster-c.alone)})
	}
	if !t.Failed() {
		ledger.Write(t)
	}
}

// killedAt kills at a random moment, and repeats the command until there is a backup.
func (s *scene) killedAt(r *rand.Rand, seed int, came *[len(kills)]killed) {
	s.Helper()
	after, kind := time.Duration(r.Int64N(int64(killWithin))), r.IntN(len(kills))
	what, c := kills[kind], &came[kind]
	p, err := s.cli.Start(s.ctx, "backup", "my-db", "--repository", "offsite", "-n", s.ns)
	s.ok(err)
	c.seeds++
	c.runs++
	ended := make(chan harness.Result, 1)
	go func() {
		result, _ := p.Wait()
		ended <- result
	}()
	select {
	case result := <-ended: // it was faster
		s.succeeded(result, fmt.Sprintf("seed %d: backup, to be killed after %s", seed, after))
		c.faster++
		return
	case <-time.After(after):
	}
	if what.process {
		s.killProcess(&what)
	}
	if what.pod {
		s.kubectl("delete", "pods", "-l", "dbop.dev/purpose=backup", "--grace-period=0", "--force")
	}
	if what.command {
		s.ok(p.Signal(os.Kill))
	}
	result := <-ended
	s.Logf("seed %d: %s killed after %s: exit code %d after %s", seed, what.name, after, result.Code, result.Duration)
	if result.Code == 0 {
		c.alone++
		return
	}
	s.ok(harness.Until(s.ctx, 3*time.Minute, "the backup", func(context.Context) error {
		c.runs++
		if result := s.try("backup", "my-db", "--repository", "offsite"); result.Code != 0 {
			return errors.New(result.String())
		}
		return nil
	}))
}

// killProcess kills what runs in the pod of the backup; where the machine of the pods is another one, the pod goes.
func (s *scene) killProcess(what *kill) {
	s.Helper()
	m, err := s.site.Machine()
	if errors.Is(err, harness.ErrNoMachine) {
		what.pod = true
		return
	}
	s.ok(err)
	s.ok(m.KillProcesses(s.ctx, s.ns, "dbop.dev/purpose=backup", "kubectl-dbop"))
}

// whole restores the newest backup by stock tools, and returns how many keys are in it.
func (s *scene) whole() int {
	s.Helper()
	snapshot := s.stockSnapshot("kills")
	r, err := s.site.Tool("etcdutl", "3.6").Run(s.ctx, "snapshot", "status", snapshot, "-w", "json")
	s.ok(err)
	s.succeeded(r, "etcdutl snapshot status")
	var status struct {
		TotalKey int `json:"totalKey"`
	}
	s.ok(json.Unmarshal([]byte(r.Stdout), &status))
	return status.TotalKey
}
