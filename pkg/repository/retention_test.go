package repository

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// surplus are the backups that no rule keeps.
func surplus(all []Manifest, cluster, namespace string, by archive.Retention, now time.Time) []archive.Decision {
	return slices.DeleteFunc(Judge(all, cluster, namespace, by, now), func(d archive.Decision) bool { return d.Keep })
}

func TestSurplus(t *testing.T) {
	t.Parallel()
	// Newest first, as a listing is: by name, made by a schedule (s) or by hand
	// (h), and restored once (v).
	listing := func(words ...string) []Manifest {
		var out []Manifest
		for i, w := range words {
			at := time.Unix(int64(1000-i), 0)
			m := Manifest{ID: w, Cluster: "db", Namespace: "ns", StartedAt: at, FinishedAt: at, Scheduled: w[0] == 's'}
			if w[len(w)-1] == 'v' {
				m.Verified = &Verification{Time: at}
			}
			out = append(out, m)
		}
		return out
	}
	other := func(cluster, namespace string) []Manifest {
		all := listing("s1", "s2", "s3")
		for i := range all {
			all[i].Cluster, all[i].Namespace = cluster, namespace
		}
		return all
	}
	for name, c := range map[string]struct {
		all  []Manifest
		keep int
		want []string
	}{
		"all stay":                        {listing("s1", "s2", "s3"), 0, nil},
		"as many as are to stay":          {listing("s1", "s2", "s3"), 3, nil},
		"the oldest go":                   {listing("s1", "s2", "s3", "s4"), 2, []string{"s3", "s4"}},
		"by hand stays and counts not":    {listing("h1", "s2", "h3", "s4", "h5"), 1, []string{"s4"}},
		"the newest verified stays":       {listing("s1", "s2", "s3v", "s4v"), 1, []string{"s2", "s4v"}},
		"a newer one by hand is verified": {listing("s1", "h2v", "s3v", "s4"), 1, []string{"s3v", "s4"}},
		"of another cluster":              {other("db-2", "ns"), 1, nil},
		"of another namespace":            {other("db", "elsewhere"), 1, nil},
		"nothing there":                   {nil, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range surplus(c.all, "db", "ns", archive.Retention{Last: c.keep}, time.Unix(1000, 0)) {
				got = append(got, m.ID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSurplusByAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC) // a Monday
	var all []Manifest
	for i := range 30 {
		at := now.Add(-time.Duration(i) * day)
		all = append(all, Manifest{ID: at.Format(time.DateOnly), Cluster: "db", Namespace: "ns", FinishedAt: at,
			Scheduled: true})
	}
	gone := map[string]bool{}
	for _, m := range surplus(all, "db", "ns", archive.Retention{Within: 3 * day, Weekly: 3}, now) {
		gone[m.ID] = true
	}
	for _, kept := range []string{"2026-11-23", "2026-11-22", "2026-11-21", "2026-11-15"} {
		if gone[kept] {
			t.Errorf("%s is gone", kept)
		}
	}
	if len(gone) != 26 {
		t.Errorf("%d of 30 are gone", len(gone))
	}
	if left := surplus(all[20:], "db", "ns", archive.Retention{Within: day}, now); len(left) != 9 {
		t.Errorf("%d of 10 old ones are gone: the newest stays whatever its age", len(left))
	}
}

// TestSurplusParents: what a kept backup adds to stays.
func TestSurplusParents(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return time.Unix(int64(hours)*3600, 0) }
	all := []Manifest{}
	for i, m := range []Manifest{{ID: "d", Parent: "c"}, {ID: "c"}, {ID: "b", Parent: "a"}, {ID: "a"}} {
		m.Cluster, m.Namespace, m.Scheduled, m.StartedAt, m.FinishedAt = "db", "ns", true, at(10-i), at(10-i)
		all = append(all, m)
	}
	var got []string
	for _, m := range surplus(all, "db", "ns", archive.Retention{Last: 1}, at(20)) {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff([]string{"b", "a"}, got); diff != "" {
		t.Error(diff)
	}
}
