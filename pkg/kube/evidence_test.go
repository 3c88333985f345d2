package kube

import "testing"

func TestConcerns(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"db": true, "db-1": true, "db-1-0": true, "db-client": true, "db.dbop": true, "db.dbop-op-1": true, "dbx": false, "other": false, "dbx-1": false} {
		if got := concerns(name, "db"); got != want {
			t.Errorf("%s concerns db: %v, want %v", name, got, want)
		}
	}
}
