package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// objectStore is a repository that plans by itself. Each of its plans lets other backups go.
type objectStore struct {
	repository.Repository

	plans [][]string
	log   []archive.Part
	// slow waits in what it names until its time is over.
	slow    string
	deleted []string
}

func (s *objectStore) URL() string { return "offsite" }

func (s *objectStore) Close() error { return nil }

func (s *objectStore) wait(ctx context.Context, in string) error {
	if s.slow != in {
		return nil
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

func (s *objectStore) Get(ctx context.Context, id string) (repository.Manifest, error) {
	return repository.Manifest{ID: id, Cluster: "my-db"}, s.wait(ctx, "get")
}

func (s *objectStore) Delete(ctx context.Context, id string) error {
	s.deleted = append(s.deleted, id)
	return s.wait(ctx, "delete")
}

func (s *objectStore) PlanLog(_ context.Context, p *archive.Plan) error {
	p.Log = s.log
	return nil
}

func (s *objectStore) Plan(ctx context.Context, _ string, in bucket.Pruning) (*archive.Plan, error) {
	if err := s.wait(ctx, "plan"); err != nil {
		return nil, err
	}
	goes := s.plans[0]
	s.plans = s.plans[1:]
	p := &archive.Plan{}
	for _, id := range []string{"c", "b", "a"} {
		e := archive.Entry{ID: id, Attempt: id, Scheduled: true}
		p.Decisions = append(p.Decisions, archive.Decision{Entry: e, Keep: !slices.Contains(goes, id)})
	}
	for id := range in.Keep {
		p.Keep(id, "it is needed")
	}
	return p, nil
}

func (s *objectStore) Prune(ctx context.Context, p *archive.Plan) (*archive.Result, error) {
	if err := s.wait(ctx, "prune"); err != nil {
		return nil, err
	}
	r := &archive.Result{}
	for _, d := range p.Decisions {
		if !d.Keep {
			r.Deleted = append(r.Deleted, d.ID)
		}
	}
	s.deleted = r.Deleted
	return r, nil
}

// TestPruneDeletesWhatWasShown: not what has become surplus since, and not what is needed by now.
func TestPruneDeletesWhatWasShown(t *testing.T) {
	for name, c := range map[string]struct {
		shown, later, want []string
	}{
		"nothing changed":    {[]string{"a", "b"}, []string{"a", "b"}, []string{"b", "a"}},
		"one more goes":      {[]string{"a"}, []string{"a", "b"}, []string{"a"}},
		"one is held by now": {[]string{"a", "b"}, []string{"b"}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			s := &objectStore{plans: [][]string{c.shown, c.later}}
			b.Stores = map[string]repository.Repository{"offsite": s}
			b.Tty, b.In = true, strings.NewReader("y\n")
			r := b.Run("backup", "prune", "my-db", "--repository", "offsite", "--keep-last", "1")
			if r.Code != exit.Done {
				t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
			}
			if diff := cmp.Diff(c.want, s.deleted); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPruneShowsTheLog: what goes of the log is shown, and nothing of it goes without a yes.
func TestPruneShowsTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		in   string
		code int
		says []string
	}{
		"dry run": {[]string{"--dry-run"}, "", exit.Done, []string{
			"LOG: 12 segments (192MiB) of timeline 2 are needed by no backup that stays",
			"0 of 3 backups and 12 segments of the log would be deleted (dry run)"}},
		"JSON": {[]string{"--dry-run", "-o", "json"}, "", exit.Done, []string{`"timeline": "2"`}},
		"no":   {nil, "n\n", exit.Failed, []string{"Delete 0 backups and 12 segments of the log of my-db from offsite"}},
		"yes":  {nil, "y\n", exit.Done, []string{"0 backups deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			s := &objectStore{plans: [][]string{nil, nil},
				log: []archive.Part{{Incarnation: "1", Timeline: "2", Segments: 12, Bytes: 192 << 20}}}
			b.Stores = map[string]repository.Repository{"offsite": s}
			b.Tty, b.In = true, strings.NewReader(c.in)
			r := b.Run(append([]string{"backup", "prune", "my-db", "--repository", "offsite"}, c.args...)...)
			for _, says := range c.says {
				if !strings.Contains(r.Out+r.Err, says) {
					t.Errorf("it does not say %q", says)
				}
			}
			if r.Code != c.code || (c.code != exit.Done) != (len(s.plans) == 1) && len(c.args) == 0 {
				t.Errorf("exit %d, %d plans left\n%s%s", r.Code, len(s.plans), r.Out, r.Err)
			}
		})
	}
}

// scheduled stores backups of a schedule in the default directory, the oldest first.
func scheduled(b *clitest.Bench, days int) []string {
	b.T.Helper()
	b.Backup("other")
	d, err := repository.NewDirectory(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups"))
	if err != nil {
		b.T.Fatal(err)
	}
	var ids []string
	for i := range days {
		at := clitest.Noon.AddDate(0, 0, i-days)
		id := "my-db-" + at.Format("20060102T150405Z") + "-0a1b"
		w, err := d.Writer(b.T.Context(), id, "op")
		if err != nil {
			b.T.Fatal(err)
		}
		if _, err := w.Commit(b.T.Context(), repository.Manifest{Format: 1, ID: id, Engine: "fakedb", Cluster: "my-db",
			Namespace: "shop", Scheduled: true, StartedAt: at, FinishedAt: at},
			func(string) (engine.SnapshotFacts, error) { return engine.SnapshotFacts{}, nil }); err != nil {
			b.T.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func left(b *clitest.Bench) []string {
	b.T.Helper()
	files, err := filepath.Glob(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups", "my-db-*.json"))
	if err != nil {
		b.T.Fatal(err)
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	return out
}

// TestPruneADirectory: it has a dry run as a repository with a name has, and the same rules.
func TestPruneADirectory(t *testing.T) {
	b := clitest.New(t)
	ids := scheduled(b, 4)
	if err := os.WriteFile(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups", ids[0]+".json"), []byte("{"),
		0o600); err != nil {
		t.Fatal(err)
	}
	prune := []string{"backup", "prune", "my-db", "--keep-last", "1"}
	if r := b.Run(append(prune, "--dry-run")...); r.Code != exit.Done ||
		!strings.Contains(r.Err, "2 of 3 backups would be deleted") || !strings.Contains(r.Err, ids[0]+" is damaged") ||
		len(left(b)) != 4 {
		t.Errorf("exit %d, %q\n%s%s", r.Code, left(b), r.Out, r.Err)
	}
	r := b.Run(append(prune, "--yes")...)
	if diff := cmp.Diff([]string{ids[0], ids[3]}, left(b)); r.Code != exit.Done || diff != "" {
		t.Errorf("exit %d\n%s%s\n%s", r.Code, r.Out, r.Err, diff)
	}
}

// TestPruneByTheScheduleOfTheCluster: without a rule its own counts, in its own repository alone.
func TestPruneByTheScheduleOfTheCluster(t *testing.T) {
	for name, c := range map[string]struct {
		repository string
		args, want []string
		says       string
	}{
		"its own":           {"", nil, []string{"2", "3"}, "The schedule of my-db keeps the newest 2."},
		"what is typed":     {"", []string{"--keep-last", "3"}, []string{"1", "2", "3"}, ""},
		"of another place":  {"pvc:backups", nil, []string{"0", "1", "2", "3"}, ""},
		"another time zone": {"", []string{"--time-zone", "Europe/Berlin"}, []string{"2", "3"}, "keeps the newest 2"},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			b.CreateCluster("my-db")
			ids := scheduled(b, 4)
			at := "dir:" + filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups")
			records := b.Records(kube.DryRunNone)
			have, err := records.GetCluster(t.Context(), "shop", "my-db")
			if err != nil {
				t.Fatal(err)
			}
			have.Spec.Backup.Schedule, have.Spec.Backup.Keep = "0 2 * * *", 2
			have.Spec.Backup.Repository = at
			if c.repository != "" {
				have.Spec.Backup.Repository = c.repository
			}
			if err := records.UpdateCluster(t.Context(), have); err != nil {
				t.Fatal(err)
			}
			r := b.Run(append([]string{"backup", "prune", "my-db", "--repository", at, "--yes"}, c.args...)...)
			var want []string
			for i, id := range ids {
				if slices.Contains(c.want, strconv.Itoa(i)) {
					want = append(want, id)
				}
			}
			if diff := cmp.Diff(want, left(b)); r.Code != exit.Done || diff != "" || !strings.Contains(r.Err, c.says) ||
				c.says == "" && strings.Contains(r.Err, "The schedule of") {
				t.Errorf("exit %d\n%s%s\n%s", r.Code, r.Out, r.Err, diff)
			}
		})
	}
}

// TestDeletionsEndInTime: a store that does not answer keeps nobody for longer than was allowed.
func TestDeletionsEndInTime(t *testing.T) {
	const id = "my-db-20261121T101500Z-0a1b"
	for slow, args := range map[string][]string{
		"plan": {"backup", "prune", "my-db"}, "prune": {"backup", "prune", "my-db"},
		"get": {"backup", "delete", id}, "delete": {"backup", "delete", id},
	} {
		t.Run(slow, func(t *testing.T) {
			b := clitest.New(t)
			s := &objectStore{plans: [][]string{{"a"}, {"a"}}, slow: slow}
			b.Stores = map[string]repository.Repository{"offsite": s}
			r := b.Run(append(args, "--repository", "offsite", "--yes", "--timeout", "50ms")...)
			if r.Code != exit.TimedOut || !strings.Contains(r.Err, "the time allowed by --timeout is over") {
				t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
			}
		})
	}
}
