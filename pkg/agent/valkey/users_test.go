//go:build linux

package valkey

import (
	"strings"
	"testing"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, people, has, refused string }{
		{"nobody", "", "user default off", ""},
		{"a person", "# rules\nuser app on #00 ~* +@all\n", "user app on #00 ~* +@all -replicaof", ""},
		{"somebody without a name", "user default on nopass +ping", "user default on nopass +ping -replicaof", ""},
		{"the agent", "user dbop on nopass +@all", "", "belongs to the agent"},
		{"one that the tool made", "user made on nopass", "", "the tool made the user"},
		{"a selector", "user app on (+replicaof)", "", "selector"},
		{"no rule", "app on", "", "not with the word user"},
	} {
		rules, err := aclFile(product{}, secrets{agent: "secret"},
			map[string]account{"made": {Hash: "#00", Admin: true}}, c.people)
		if c.refused == "" && (err != nil || !strings.Contains(rules, c.has)) ||
			c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %q, %v", c.name, rules, err)
		}
		if strings.Contains(rules, "secret") {
			t.Errorf("%s: a password is in the file", c.name)
		}
	}
}

func TestProduct(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]product{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0":  {major: 7, release: "7.0.15"},
		"Valkey server v=8.1.1 sha=00000000:0 malloc=jemalloc-5.3.0":  {valkey: true, major: 8, release: "8.1.1"},
		"Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1":  {},
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1), no v=": {},
	} {
		got, err := parseProduct(out)
		if got != want || (err == nil) != (want.major > 0) {
			t.Errorf("%q is %+v: %v", out, got, err)
		}
	}
}
