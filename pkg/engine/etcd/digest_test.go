package etcd

import (
	"strconv"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
)

func digestOf(pairs ...[2]string) engine.Fingerprint {
	d := datafile.NewDigest()
	for _, p := range pairs {
		d.Add([]byte(p[0]), []byte(p[1]))
	}
	return d.Fingerprint(7)
}

// counted is a reading that is a number, -1 if there is none.
func counted(f engine.Fingerprint, name string) int64 {
	n, err := strconv.ParseInt(f.Reading(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func TestDigest(t *testing.T) {
	a, b, c := [2]string{"a", "1"}, [2]string{"b", "2"}, [2]string{"c", ""}
	base := digestOf(a, b, c)
	if got := digestOf(c, a, b); got.Proof != base.Proof {
		t.Errorf("another order: %+v, want %+v", got, base)
	}
	for name, other := range map[string]engine.Fingerprint{
		"a pair less":          digestOf(a, b),
		"a pair twice":         digestOf(a, b, c, c),
		"values exchanged":     digestOf([2]string{"a", "2"}, [2]string{"b", "1"}, c),
		"border moved":         digestOf([2]string{"a1", ""}, b, c),
		"value into a key":     digestOf(a, b, [2]string{"", "c"}),
		"nothing":              digestOf(),
		"another value":        digestOf(a, b, [2]string{"c", "\x00"}),
		"zeros in their place": digestOf([2]string{"", ""}, [2]string{"", ""}, [2]string{"", ""}),
	} {
		if other.Proof == base.Proof {
			t.Errorf("%s: the same proof %s", name, other.Proof)
		}
	}
	if counted(base, "keys") != 3 || counted(base, "revision") != 7 {
		t.Errorf("fingerprint %+v", base)
	}
}

func TestCompareProofs(t *testing.T) {
	t.Parallel()
	base, other := digestOf([2]string{"a", "1"}).Proof, digestOf([2]string{"a", "2"}).Proof
	for name, c := range map[string]struct {
		want, got engine.Proof
		match     engine.Match
	}{
		"the same":      {base, base, engine.MatchSame},
		"another value": {base, other, engine.MatchDifferent},
		"a key more": {base, engine.Proof(strings.Replace(string(base), "1 keys", "2 keys", 1)),
			engine.MatchDifferent},
		"nothing":           {"", "", engine.MatchUnknown},
		"nothing backed up": {"", base, engine.MatchUnknown},
		"nothing served":    {base, "", engine.MatchUnknown},
		"cut off":           {base[:20], base[:20], engine.MatchUnknown},
		"of another kind":   {"7 rows, crc32:0", "7 rows, crc32:0", engine.MatchUnknown},
	} {
		if got := New().CompareProofs(c.want, c.got); got != c.match {
			t.Errorf("%s: %q, want %q", name, got, c.match)
		}
	}
}
