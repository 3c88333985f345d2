package backup_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// objectStore is a repository that plans by itself. Each of its plans lets other backups go.
type objectStore struct {
	repository.Repository

	plans [][]string
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

func (s *objectStore) Plan(ctx context.Context, _ string, _ archive.Retention, keep map[string]bool) (*archive.Plan,
	error) {
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
	for id := range keep {
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
