package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

// TestCompareDataDirs: who goes first is raft's rule, whatever the revision says.
func TestCompareDataDirs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		want       int
		ok         bool
	}{
		{"longer log of one term", "c/3/100/90", "c/3/99/90", 1, true},
		{"same log", "c/3/100/90", "c/3/100/90", 0, true},
		{"same log, one applied less", "c/3/100/90", "c/3/100/80", 0, true},
		{"higher revision, older term", "c/2/200/190", "c/3/100/90", -1, true},
		{"later term, shorter log", "c/4/50/40", "c/3/100/90", 1, true},
		{"another cluster", "d/4/50/40", "c/3/100/90", 0, false},
		{"unknown", "", "c/3/100/90", 0, false},
	} {
		got, ok := New().CompareDataDirs(engine.Position(c.a), engine.Position(c.b))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v; want %d, %v", c.name, got, ok, c.want, c.ok)
		}
		if back, _ := New().CompareDataDirs(engine.Position(c.b), engine.Position(c.a)); ok && back != -c.want {
			t.Errorf("%s, the other way round: %d", c.name, back)
		}
	}
}

func TestDataDirLag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"c/3/100/90", "c/3/93/80", "7 log entries behind"},
		{"c/3/100/90", "c/2/200/190", "last entry of term 2 rather than 3, index 200 rather than 100"},
		{"c/3/100/90", "d/3/93/80", "not known"},
	} {
		if got := New().DataDirLag(engine.Gap{Leader: engine.Position(c.a),
			Member: engine.Position(c.b)}); !strings.Contains(got, c.want) {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// TestInspectAndRecoverData kills a cluster of every series while one member lags,
// reads what is left, and has the most advanced data serve by itself.
func TestInspectAndRecoverData(t *testing.T) {
	t.Parallel()
	for _, series := range allSeries {
		t.Run(series, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "lost", 3)
			f.cluster.Spec.Config = map[string]string{"snapshot-count": "50"}
			f.form(series, f.names()...)
			f.kill(f.name(3))
			f.eventually("a leader", func() error { return f.put(f.name(1), "late", "x", "") })
			f.fill(f.name(1))
			v := f.session.Observe(t.Context(), f.names()[:2])
			want, err := f.session.Fingerprint(t.Context(), f.name(1))
			if err != nil {
				t.Fatal(err)
			}
			f.kill(f.name(1))
			f.kill(f.name(2))

			e := New()
			info := map[string]engine.DataDirInfo{}
			for _, m := range f.names() {
				info[m] = e.InspectDataDir(f.members[m].data)
				if r := info[m]; !r.Intact || r.ClusterID != v.ClusterIDs[0] {
					t.Fatalf("%s: %+v", m, r)
				}
			}
			best, lagging := info[f.name(1)], info[f.name(3)]
			if order, ok := e.CompareDataDirs(best.Position, lagging.Position); order != 1 || !ok {
				t.Errorf("%s is not ahead of %s", best.Position, lagging.Position)
			}
			if best.MemberID != v.Member(f.name(1)).ID || counted(engine.Fingerprint{Readings: best.Readings},
				"revision") < counted(engine.Fingerprint{Readings: lagging.Readings}, "revision") {
				t.Errorf("%+v, %+v", best, lagging)
			}
			end, _ := positions.Parse(best.Position)
			if seen := positions.Applied(v.Member(f.name(1))); end.Applied < seen {
				t.Errorf("the log ends at %d, the member had applied %d", end.Applied, seen)
			}
			recoverData(t, series, f.members[f.name(1)].data, want)
		})
	}
}

// recoverData starts a copy of the data as the throw-away pod does.
func recoverData(t *testing.T, series, data string, want engine.Fingerprint) {
	t.Helper()
	s := newFleet(t, "recover", 1)
	m := s.name(1)
	if err := os.CopyFS(s.members[m].data, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.members[m].data, 0o700); err != nil {
		t.Fatal(err)
	}
	pod,
		err := New().RecoveryPod(engine.PodInput{Cluster: s.cluster, Member: m, Image: "x", Version: versionOf(t, series),
		Bootstrap: true, Peers: []string{m}})
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(pod.Container.Args, " ")
	if !strings.Contains(args, "--listen-peer-urls=https://127.0.0.1:") || !strings.Contains(args,
		"--listen-client-urls=https://127.0.0.1:") || pod.Container.ReadinessProbe != nil {
		t.Errorf("reachable from outside: %s", args)
	}
	p := s.members[m]
	args = strings.NewReplacer(fmt.Sprintf("127.0.0.1:%d", addresses.PeerPort), fmt.Sprintf("127.0.0.1:%d", p.peer),
		fmt.Sprintf("127.0.0.1:%d", addresses.ClientPort), fmt.Sprintf("127.0.0.1:%d", p.client),
		fmt.Sprintf("127.0.0.1:%d", addresses.MetricsPort), fmt.Sprintf("127.0.0.1:%d", p.metrics)).Replace(args)
	s.run(series, m, s.local(m, strings.Fields(args))...)
	s.healthy(m)
	got, err := s.session.Fingerprint(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if New().CompareProofs(want.Proof, got.Proof) != engine.MatchSame {
		t.Errorf("recovered %+v, want %+v", got, want)
	}
	facts, err := New().OpenSnapshot(s.snapshot(m), false)
	if err != nil || len(facts.Members) != 1 {
		t.Errorf("snapshot of the recovered data: %+v, %v", facts, err)
	}
}

// TestExamineDamage: what is damaged, torn or missing.
func TestExamineDamage(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "harm", 1)
	f.form(series36, f.name(1))
	f.fill(f.name(1))
	f.kill(f.name(1))
	data := f.members[f.name(1)].data
	log := onlyLog(t, data)
	whole := New().InspectDataDir(data)
	for name, c := range map[string]struct {
		harm   func(t *testing.T, dir string)
		intact bool
		says   string
	}{
		"nothing": {func(*testing.T, string) {}, true, ""},
		"no database": {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "member/snap/db")) }, false,
			"no such file"},
		"no log": {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, log)) }, false, "no log"},
		"empty":  {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "member")) }, false, "no log"},
		// Page 0 and 1 are the two descriptions of the file; a root page follows.
		"flipped bit in a page of the database": {func(t *testing.T,
			dir string) {
			flipPages(t, filepath.Join(dir, "member/snap/db"))
		}, false, ""},
		// Within a record its checksum tells, in its frame the record can't be read.
		"flipped bit in the log": {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, log), 2000) }, false,
			"0.wal: "},
		"log torn in its last record": {func(t *testing.T, dir string) { tear(t, filepath.Join(dir, log)) }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(data)); err != nil {
				t.Fatal(err)
			}
			c.harm(t, dir)
			r := New().InspectDataDir(dir)
			if r.Intact != c.intact || !strings.Contains(r.Problem, c.says) || r.Intact == (r.Problem != "") {
				t.Errorf("%+v, want intact %v, %q", r, c.intact, c.says)
			}
			if name == "nothing" && cmp.Diff(whole, r) != "" {
				t.Errorf("%+v, then %+v", whole, r)
			}
		})
	}
}

func onlyLog(t *testing.T, data string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(data, "member", "wal", "*.wal"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	return filepath.Join("member", "wal", filepath.Base(files[0]))
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at] ^= 4
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// flipPages flips a bit in the flags of every page behind the descriptions.
func flipPages(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 2*os.Getpagesize() + 8; at < len(content); at += os.Getpagesize() {
		content[at] ^= 1
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tear leaves the first half of the last record, as a crash does. What the
// database applied stays ahead of nothing: the last record is a whole sector off.
func tear(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	end := int64(0)
	for {
		_, next, err := datafile.ReadRecord(f, end, info.Size())
		if err != nil {
			break
		}
		end = next
	}
	// A record whose length was written and whose bytes were not.
	if _, err := f.WriteAt([]byte{0xf0, 0x0f, 0, 0, 0, 0, 0, 0, 8, 2}, end); err != nil {
		t.Fatal(err)
	}
}
