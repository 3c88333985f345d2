package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// counted is an engine whose files of the log are numbered.
type counted struct{ engine.Engine }

func (counted) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "" }

func (counted) LogTimeline(string) string { return "1" }

func (counted) Forward(context.Context, string, engine.ForwardTo) error {
	return errors.New("it has no server")
}

func (counted) LogWindow(backup engine.SnapshotFacts, files []engine.LogFile) engine.LogWindow {
	number := func(name string) (n int) {
		_, _ = fmt.Sscanf(name, "0000000100000000%x", &n)
		return n
	}
	w := engine.LogWindow{Timeline: "1"}
	next := number(backup.LogStart.File)
	for _, f := range files {
		if number(f.Name) != next {
			w.Gap = fmt.Sprintf("0000000100000000%08x", next)
			break
		}
		w.To = f.Time
		next++
	}
	return w
}

// logged is a repository with an archived log.
type logged struct {
	repository.Repository
	archive *archive.Archive
}

func (l logged) Log(namespace, cluster, token string) *archive.Log {
	return l.archive.Log(archive.Scope{Namespace: namespace, Cluster: cluster}, token)
}

// TestJudgeMoment: a moment is refused that the backup and the log don't cover, and the error says which there are.
func TestJudgeMoment(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	m := repository.Manifest{ID: "db-1", Namespace: "ns", Cluster: "db", Incarnation: "token", FinishedAt: begin}
	m.Facts.LogStart = &engine.LogStart{Timeline: "1", File: "000000010000000000000002"}
	for name, test := range map[string]struct {
		to   string
		is   string
		gap  bool
		none bool
		want []string
	}{
		"inside":          {to: "2026-11-23T20:01:30Z"},
		"in another zone": {to: "2026-11-23T21:01:30+01:00"},
		"before the backup": {to: "2026-11-23T19:59:59Z", want: []string{"outside",
			"20:00:00Z to before 2026-11-23T20:02:00Z"}},
		"in the future":   {to: "2030-01-01T00:00:00Z", want: []string{"outside", "to before 2026-11-23T20:02:00Z"}},
		"the last commit": {to: "2026-11-23T20:02:00Z", want: []string{"outside", "to before 2026-11-23T20:02:00Z"}},
		"all of it":       {to: "latest", is: "latest"},
		"all with a gap": {to: "latest", gap: true, want: []string{"latest is outside",
			"000000010000000000000003 is missing"}},
		"all of nothing": {to: "latest", none: true, want: []string{"no log is archived that goes on"}},
		"behind a gap": {to: "2026-11-23T20:01:30Z", gap: true, want: []string{"outside", "to before 2026-11-23T20:01:00Z",
			"000000010000000000000003 is missing"}},
		"nothing archived": {to: "2026-11-23T20:01:30Z", none: true, want: []string{"no log is archived that goes on"}},
		"without a zone":   {to: "2026-11-23T20:01:30", want: []string{"no moment with its zone"}},
	} {
		r := logged{archive: logOf(t)}
		for n, name := range []string{"000000010000000000000002", "000000010000000000000003", "000000010000000000000004"} {
			if test.none || test.gap && n == 1 {
				continue
			}
			s := archive.Segment{Timeline: "1", Name: name, Start: "0/1", End: "0/2",
				Time: begin.Add(time.Duration(min(n+1, 2)) * time.Minute)}
			if err := r.Log("ns", "db", "token").Append(t.Context(), s, []byte(name)); err != nil {
				t.Fatal(err)
			}
		}
		f := restoreFlags{toTime: test.to}
		err := f.judgeMoment(t.Context(), counted{}, r, m)
		if len(test.want) == 0 {
			if err != nil || f.toTime != cmp.Or(test.is, "2026-11-23T20:01:30Z") || f.timeline != "1" {
				t.Errorf("%s: to %s along %s, %v", name, f.toTime, f.timeline, err)
			}
			continue
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	f := restoreFlags{toTime: "2026-11-23T20:01:30Z"}
	if err := f.judgeMoment(t.Context(), counted{}, nil, m); err == nil || !strings.Contains(err.Error(), "no log") {
		t.Errorf("of a repository without logs: %v", err)
	}
}

func logOf(t *testing.T) *archive.Archive {
	t.Helper()
	signer, public, err := archive.NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := archive.ParseKeys(nil, nil, signer, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := store.NewDirectory(t.TempDir() + "/store")
	if err != nil {
		t.Fatal(err)
	}
	return archive.Open(dir, keys)
}
