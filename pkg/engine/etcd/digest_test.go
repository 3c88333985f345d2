package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func digestOf(pairs ...[2]string) engine.Fingerprint {
	d := newDigest()
	for _, p := range pairs {
		d.add([]byte(p[0]), []byte(p[1]))
	}
	return d.fingerprint(7)
}

func TestDigest(t *testing.T) {
	a, b, c := [2]string{"a", "1"}, [2]string{"b", "2"}, [2]string{"c", ""}
	base := digestOf(a, b, c)
	if got := digestOf(c, a, b); got != base {
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
		if other.Hash == base.Hash {
			t.Errorf("%s: the same hash %s", name, other.Hash)
		}
	}
	if base.Keys != 3 || base.Revision != 7 {
		t.Errorf("fingerprint %+v", base)
	}
}
