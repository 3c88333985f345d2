package repository

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// Judge is what a retention makes of the backups of a cluster, newest first. all is a listing, newest first; half a
// backup is not in it, and one whose manifest can't be read counts for nothing and stays.
// What was taken by hand or for the safety of an operation is no business of
// a schedule, and the newest backup that was ever restored stays whatever
// made it: the newer ones are not proven. Ages count from when a backup was complete until now.
func Judge(all []Manifest, cluster, namespace string, by archive.Retention, now time.Time) []archive.Decision {
	var entries []archive.Entry
	for _, m := range all {
		if m.Cluster != cluster || m.Namespace != namespace {
			continue
		}
		e := archive.Entry{ID: m.ID, Attempt: m.ID, Parent: m.Parent, Scheduled: m.Scheduled, Stored: m.FinishedAt}
		if m.Verified != nil {
			e.Proof = &archive.Proof{Attempt: m.ID, Level: archive.LevelRestorable, Time: m.Verified.Time}
		}
		if f := m.FailedProof; f != nil {
			e.Failed = &archive.Proof{Attempt: m.ID, Level: f.Level, Time: f.Time, Failed: true}
		}
		entries = append(entries, e)
	}
	return by.Decide(entries, now, func(archive.Entry) bool { return true })
}
