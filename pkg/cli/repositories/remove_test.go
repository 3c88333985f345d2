package repositories_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// archiving is an engine whose log goes to a repository.
type archiving struct {
	opstest.Engine
	engine.LogArchiver
}

func (archiving) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "offsite" }

// TestRemoveRefuses a repository that a cluster archives its log to, and removes another one.
func TestRemoveRefuses(t *testing.T) {
	b := bench(t)
	for _, name := range []string{"offsite", "other"} {
		b.Must("repository", "add", name, "--url", url, "--from-env", "--no-encryption")
	}
	b.CreateCluster("my-db")
	b.Engines = []engine.Engine{archiving{}}
	r := b.Run("repository", "remove", "offsite", "--yes")
	if r.Code != exit.Refused || !strings.Contains(r.Err, "my-db in namespace shop archives its log there") ||
		len(b.Repositories.Descriptions) != 2 {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Must("repository", "remove", "other", "--yes")
}

// TestRemoveEndsInTime: an API server that does not answer keeps nobody for longer than was allowed.
func TestRemoveEndsInTime(t *testing.T) {
	b := bench(t)
	b.Must("repository", "add", "offsite", "--url", url, "--from-env", "--no-encryption")
	b.Repositories.Slow = true
	r := b.Run("repository", "remove", "offsite", "--yes", "--timeout", "50ms")
	if r.Code != exit.TimedOut || !strings.Contains(r.Err, "the time allowed by --timeout is over") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
