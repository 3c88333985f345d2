package backups

import (
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// RetentionOf is a retention as a repository takes it. Its days begin in a time zone; "" is UTC.
func RetentionOf(r v1alpha1.Retention, zone string) (archive.Retention, error) {
	out := archive.Retention{Last: int(r.Keep), Daily: int(r.KeepDaily), Weekly: int(r.KeepWeekly),
		Monthly: int(r.KeepMonthly), Yearly: int(r.KeepYearly)}
	if min(out.Last, out.Daily, out.Weekly, out.Monthly, out.Yearly) < 0 {
		return out, errors.New("fewer than no backups can't be kept")
	}
	var err error
	if out.Within, err = archive.ParseAge(r.KeepFor); err != nil {
		return out, err
	}
	if out.Location, err = time.LoadLocation(zone); err != nil {
		return out, fmt.Errorf("there is no time zone %q: %w", zone, err)
	}
	return out, nil
}

// OfSchedule is the retention of a cluster's own schedule in a repository, and its time zone. It keeps all where no
// schedule of the cluster takes backups there, or where there is no such cluster.
func OfSchedule(c *v1alpha1.DatabaseCluster, repository string) (v1alpha1.Retention, string) {
	if c == nil || c.Spec.Backup.Schedule == "" || c.Spec.Backup.Repository != repository {
		return v1alpha1.Retention{}, ""
	}
	return c.Spec.Backup.Retention, c.Spec.Backup.TimeZone
}
