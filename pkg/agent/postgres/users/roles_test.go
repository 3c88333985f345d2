//go:build linux

package users

import (
	"strings"
	"testing"
)

func TestRoleOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("d", 52)
	for database, want := range map[string]string{
		"app": "dbop_owner_app", long: "dbop_owner_" + long,
		long + "d": "dbop_owner_30c2ab11a25c7e116493caaac958ebbe",
	} {
		if got := roleOf(writersPrefix, database); got != want || len(got) > mostRole {
			t.Errorf("the writers of %s are %s, want %s", database, got, want)
		}
	}
}
