package backup_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

// TestRestoreTargetFlags: flags that don't go together are refused before anything is read.
func TestRestoreTargetFlags(t *testing.T) {
	b := clitest.New(t)
	for says, args := range map[string][]string{
		"--to-lsn and --to-name exclude":   {"--to-lsn", "0/1", "--to-name", "here"},
		"--to-time and --to-transaction":   {"--to-time", "latest", "--to-transaction", "7"},
		"--exclusive needs":                {"--exclusive"},
		"--exclusive needs --to-time":      {"--to-name", "here", "--exclusive"},
		"needs --to-time with a moment":    {"--to-time", "latest", "--exclusive"},
		"is no moment with its zone":       {"--to-time", "2026-11-23T20:15:00"},
		"--from-file and --to-lsn exclude": {"--to-lsn", "0/1", "--from-file", "snapshot.db"},
	} {
		all := []string{"restore", "my-db"}
		if !strings.Contains(says, "file") {
			all = append(all, "--from", "my-db-20261120T120000Z-0a1b")
		}
		if r := b.Run(append(all, args...)...); r.Code != exit.Usage || !strings.Contains(r.Err, says) {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
	}
}
