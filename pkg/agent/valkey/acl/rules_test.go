//go:build linux

package acl

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	from := "user a on #1 ~* +@all\nuser b on #2 ~x* +get\nuser c on #3 ~* +@all\n"
	to := "user a on #1 ~* +@all\nuser b on #4 ~x* +get\nuser d on #5 ~* +get\n"
	want := [][]string{
		{"ACL", "SETUSER", "b", "reset", "on", "#4", "~x*", "+get"},
		{"ACL", "SETUSER", "d", "reset", "on", "#5", "~*", "+get"},
		{"ACL", "DELUSER", "c"},
	}
	if diff := cmp.Diff(want, Changes(from, to)); diff != "" {
		t.Error(diff)
	}
	if got := Changes(to, to); got != nil {
		t.Errorf("changes of nothing: %v", got)
	}
}
