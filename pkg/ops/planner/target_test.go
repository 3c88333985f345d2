package planner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// counted is an engine whose files of the log are numbered.
type counted struct{ engine.Engine }

func (counted) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "" }

func (counted) CheckTarget(_ engine.LogWindow, t v1alpha1.RecoveryTarget) (v1alpha1.RecoveryTarget, error) {
	if t.Name == "bad" {
		return t, &engine.Refusal{Check: "target", Reason: "it is no good"}
	}
	if t.Time == "" {
		t.Name = "checked " + t.Name
	}
	return t, nil
}

func (counted) LogTimeline(string) string { return "1" }

func (counted) SpareLog([]engine.LogStart, []engine.LogFile) []engine.LogFile { return nil }

func (counted) ArchiveInterval(v1alpha1.DatabaseClusterSpec) string { return "" }

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
		w.To, w.End = f.Time, f.Name
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

// TestResolve: a target is refused that the backup and the log don't cover, and the error says what they do.
func TestResolve(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	m := repository.Manifest{ID: "db-1", Namespace: "ns", Cluster: "db", Incarnation: "token", FinishedAt: begin}
	m.Facts.LogStart = &engine.LogStart{Timeline: "1", File: "000000010000000000000002"}
	at := func(text string) v1alpha1.RecoveryTarget { return v1alpha1.RecoveryTarget{Time: text} }
	for name, test := range map[string]struct {
		to   v1alpha1.RecoveryTarget
		is   v1alpha1.RecoveryTarget
		gap  bool
		none bool
		want []string
	}{
		"none": {},
		"inside": {to: at("2026-11-23T20:01:30Z"),
			is: v1alpha1.RecoveryTarget{Time: "2026-11-23T20:01:30Z", Timeline: "1"}},
		"in another zone": {to: at("2026-11-23T21:01:30+01:00"),
			is: v1alpha1.RecoveryTarget{Time: "2026-11-23T20:01:30Z", Timeline: "1"}},
		"along a timeline": {to: v1alpha1.RecoveryTarget{Name: "x", Timeline: "7"},
			is: v1alpha1.RecoveryTarget{Name: "checked x", Timeline: "7"}},
		"before the backup": {to: at("2026-11-23T19:59:59Z"), want: []string{"outside",
			"20:00:00Z to before 2026-11-23T20:02:00Z"}},
		"in the future":   {to: at("2030-01-01T00:00:00Z"), want: []string{"outside", "to before 2026-11-23T20:02:00Z"}},
		"the last commit": {to: at("2026-11-23T20:02:00Z"), want: []string{"outside", "to before 2026-11-23T20:02:00Z"}},
		"all of it":       {to: at("latest"), is: v1alpha1.RecoveryTarget{Time: "latest", Timeline: "1"}},
		"all with a gap": {to: at("latest"), gap: true, want: []string{"latest is outside",
			"000000010000000000000003 is missing"}},
		"all of nothing": {to: at("latest"), none: true, want: []string{"no log is archived that goes on"}},
		"behind a gap": {to: at("2026-11-23T20:01:30Z"), gap: true, want: []string{"outside",
			"to before 2026-11-23T20:01:00Z", "000000010000000000000003 is missing"}},
		"nothing archived": {to: at("2026-11-23T20:01:30Z"), none: true, want: []string{"no log is archived that goes on"}},
		"without a zone":   {to: at("2026-11-23T20:01:30"), want: []string{"no moment with its zone"}},
		"a name": {to: v1alpha1.RecoveryTarget{Name: "x"},
			is: v1alpha1.RecoveryTarget{Name: "checked x", Timeline: "1"}},
		"a name of nothing": {to: v1alpha1.RecoveryTarget{Name: "x"}, none: true,
			want: []string{"no log is archived that goes on"}},
		"a refused name": {to: v1alpha1.RecoveryTarget{Name: "bad"}, want: []string{"no good"}},
		"exclusive is kept": {to: v1alpha1.RecoveryTarget{Time: "latest", Exclusive: true},
			is: v1alpha1.RecoveryTarget{Time: "latest", Exclusive: true, Timeline: "1"}},
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
		got, err := (&Windows{}).Resolve(t.Context(), counted{}, r, m, test.to)
		if len(test.want) == 0 && (err != nil || got != test.is) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, test.is)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, engine.ErrRefused) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	for name, e := range map[string]engine.Engine{"a repository without logs": counted{},
		"an engine without": opstest.Stub{}} {
		if _, err := (&Windows{}).Resolve(t.Context(), e, nil, m, at("2026-11-23T20:01:30Z")); err == nil ||
			!strings.Contains(err.Error(), "no log") {
			t.Errorf("%s: %v", name, err)
		}
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
