package foreign

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func sound() facts {
	return facts{system: "7", timeline: 3, bytes: 4096, data: 1 << 20, sessions: 5, most: 100, streams: 1,
		version: "17.5 (Debian 17.5-1)", settings: map[string]string{"data_checksums": "on", "ssl": "on",
			"archive_mode": "on", "fsync": "on"}}
}

// TestRisks: each danger is told, and a server without any has none.
func TestRisks(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*facts) {
		return func(f *facts) { f.settings[name] = value }
	}
	for want, change := range map[string]func(*facts){
		"":                                     func(*facts) {},
		"fsync=off: a crash":                   set("fsync", "off"),
		"zero_damaged_pages=on: damaged":       set("zero_damaged_pages", "on"),
		"pages have no checksums":              set("data_checksums", "off"),
		"clients are served in plain text":     set("ssl", "off"),
		"autovacuum is off":                    set("autovacuum", "off"),
		"synchronous_commit is off":            set("synchronous_commit", "off"),
		"a restore ends at the last backup":    set("archive_mode", "off"),
		"passwords are kept as MD5":            set("password_encryption", "md5"),
		"lines 3, 7 of pg_hba.conf":            func(f *facts) { f.openRules = []string{"3", "7"} },
		"000000010000000000000007 failed last": func(f *facts) { f.failedFile = "000000010000000000000007" },
		"the slot old, which keeps 2048 MiB": func(f *facts) {
			f.idleSlots = []idleSlot{{"small", 1 << 20}, {"old", 2 << 30}}
		},
		"tablespaces, which":               func(f *facts) { f.tablespaces = []string{"fast"} },
		"has been open for 2h0m0s":         func(f *facts) { f.oldest = 2 * time.Hour },
		"60% of the transaction IDs":       func(f *facts) { f.age = transactionIDs / 10 * 6 },
		"95 of 100 connections are in use": func(f *facts) { f.sessions = 95 },
		"no replica receives its log":      func(f *facts) { f.streams = 0 },
	} {
		f := sound()
		change(&f)
		m := engine.Member{Name: "db-0"}
		f.tell(&m)
		var got []string
		for _, r := range AssessRisks(nil, viewOf([]engine.Member{m})) {
			got = append(got, r.What)
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%q: it tells %q", want, got)
		}
	}
}

// TestTell puts what a replica said in the words of the contract.
func TestTell(t *testing.T) {
	t.Parallel()
	f, err := factsFrom([][][]string{
		{{"1", "7713", "3", "4096", "", "2", "100", "0", "1000", "15.10"}}, {{"ssl", "on"}, {"data_checksums", "on"}},
		nil, nil, nil, nil, {{"10.0.0.1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := engine.Member{Name: "db-1"}
	f.tell(&m)
	want := engine.Member{Name: "db-1", Role: engine.RoleReplica, ClusterID: "7713", Version: "15.10",
		Auth: engine.AuthOn, Position: "7713/3/4096", Leader: "10.0.0.1", Readings: []engine.Reading{
			{Name: "connections", Value: "2/100"}, {Name: "oldest transaction", Value: "0s"}, {Name: "streams", Value: "0"},
		}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range [][][][]string{nil, {{}, nil, nil, nil, nil, nil, nil},
		{{{"x", "7", "3", "4", "5", "6", "7", "8", "9", "15"}}, nil, nil, nil, nil, nil, nil}} {
		if _, err := factsFrom(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestSeveralPrimaries: two servers of one cluster that take writes are the gravest finding, and of two clusters none.
func TestSeveralPrimaries(t *testing.T) {
	t.Parallel()
	servers := func(systems ...string) engine.View {
		var all []engine.Member
		for i, system := range systems {
			f := sound()
			f.system = system
			m := engine.Member{Name: "db-" + strconv.Itoa(i), Reachable: true}
			f.tell(&m)
			all = append(all, m)
		}
		return viewOf(all)
	}
	if got := AssessRisks(nil, servers("7", "7")); len(got) != 1 || !got[0].Severe || got[0].Subject != "primary" {
		t.Errorf("two of one cluster: %+v", got)
	}
	v := servers("7", "8")
	if got := AssessRisks(nil, v); len(got) != 0 || !slices.Equal(v.ClusterIDs, []string{"7", "8"}) || !v.Quorum {
		t.Errorf("two of two clusters: %+v, %+v", got, v.ClusterIDs)
	}
	traces := []engine.MemberConfig{{Member: "db-0", Dangerous: []string{plainPassword}}}
	if got := AssessRisks(traces, v); len(got) != 1 {
		t.Errorf("a password in a pod: %+v", got)
	}
}
