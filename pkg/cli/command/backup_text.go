package command

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// NextText is when the next backup is due.
func NextText(s *health.Schedule, now time.Time) string {
	if s.Next == nil {
		return "none"
	}
	return fmt.Sprintf("%s, in %s", s.Next.UTC().Format(time.RFC3339), printer.Span(s.Next.Sub(now)))
}

// BackupText names a backup, its age and its repository.
func BackupText(b *v1alpha1.BackupReference, now time.Time) string {
	if b == nil {
		return "none known"
	}
	return fmt.Sprintf("%s, %s ago, in %s", b.ID, printer.Age(now, b.Time.Time), b.Repository)
}
