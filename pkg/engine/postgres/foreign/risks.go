package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// release is the version without what a distribution adds: "17.5 (Debian 17.5-1)".
func release(version string) string {
	number, _, _ := strings.Cut(version, " ")
	return number
}

// dangers are settings with which a crash, or a bad disk, loses data, and what that means.
func dangers() map[string]string {
	return map[string]string{
		"fsync=off":                  "a crash of the node leaves data that can't be read",
		"full_page_writes=off":       "a crash of the node leaves pages that are written in part",
		"zero_damaged_pages=on":      "damaged pages are emptied without a word",
		"ignore_checksum_failure=on": "damaged pages are read as if they were whole",
		"ignore_invalid_pages=on":    "recovery passes over pages that are missing",
		"data_sync_retry=on":         "a flush that failed is taken for done later",
	}
}

// alarms are the settings that put data at risk now.
func (f facts) alarms() []string {
	var out []string
	for danger := range dangers() {
		name, value, _ := strings.Cut(danger, "=")
		if f.settings[name] == value {
			out = append(out, danger)
		}
	}
	slices.Sort(out)
	return out
}

const (
	// transactionIDs is how many may begin after the oldest row that is not frozen (section 24.1.5 of the manual).
	transactionIDs = 1 << 31
	// longOpen keeps vacuum from removing rows.
	longOpen = time.Hour
	// muchKept is how much of the log an idle slot may keep before it is worth a warning.
	muchKept = 1 << 30
)

// warnings are what a person should do something about, each in one sentence.
func (f facts) warnings() []string {
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if f.settings["data_checksums"] == "off" {
		warn("pages have no checksums: damage by the disk is not noticed")
	}
	if f.settings["autovacuum"] == "off" || f.settings["track_counts"] == "off" {
		warn("autovacuum is off: deleted rows stay, until transaction IDs run out and writes stop")
	}
	if f.settings["synchronous_commit"] == "off" {
		warn("synchronous_commit is off: a crash loses the last writes that clients were told are done")
	}
	if f.settings["ssl"] == "off" {
		warn("clients are served in plain text")
	}
	if len(f.openRules) > 0 {
		warn("lines %s of pg_hba.conf let clients in without a password, or with one that can be read or replayed",
			strings.Join(f.openRules, ", "))
	}
	if f.failedFile != "" {
		warn("the log is not archived: %s failed last, and the volume fills up", f.failedFile)
	}
	if f.settings["archive_mode"] == "off" && !f.recovering {
		warn("the log is not archived: a restore ends at the last backup")
	}
	for _, s := range f.idleSlots {
		if s.kept >= muchKept {
			warn("nobody reads the slot %s, which keeps %d MiB of the log", s.name, s.kept>>20)
		}
	}
	if len(f.tablespaces) > 0 {
		warn("it has tablespaces, which this tool's members can't have: %s", strings.Join(f.tablespaces, ", "))
	}
	if f.oldest >= longOpen {
		warn("a transaction has been open for %s: rows that others delete stay", f.oldest)
	}
	if used := float64(f.age) / transactionIDs; used >= 0.5 {
		warn("%.0f%% of the transaction IDs are used since the oldest row was frozen", 100*used)
	}
	if f.most > 0 && f.sessions*10 >= f.most*9 {
		warn("%d of %d connections are in use", f.sessions, f.most)
	}
	if !f.recovering && f.streams == 0 {
		warn("no replica receives its log: a failover has nobody to go to")
	}
	if strings.Contains(f.settings["password_encryption"], "md5") {
		warn("passwords are kept as MD5")
	}
	return out
}

// AssessRisks implements engine.Recognizer.
func AssessRisks(traces []engine.MemberConfig, v engine.View) []engine.Risk {
	var out []engine.Risk
	primaries := map[string][]string{}
	for _, m := range v.Members {
		if m.Role == engine.RolePrimary {
			primaries[m.ClusterID] = append(primaries[m.ClusterID], m.Name)
		}
	}
	for _, names := range primaries {
		if len(names) > 1 {
			out = append(out, engine.Risk{Subject: "primary", Severe: true,
				What:     "several servers of one cluster take writes: their data differs from now on",
				Evidence: []string{strings.Join(names, ", ") + " are not in recovery"},
				Remedy:   []string{"stop all but one of them, and keep the data of the others"}})
		}
	}
	why := dangers()
	for _, m := range v.Members {
		for _, alarm := range m.Alarms {
			out = append(out, engine.Risk{Subject: "member " + m.Name, Severe: true, What: alarm + ": " + why[alarm]})
		}
	}
	for _, t := range traces {
		if slices.Contains(t.Dangerous, plainPassword) {
			out = append(out, engine.Risk{Subject: "member " + t.Member,
				What:   "the pod holds a password in plain text: who may read pods has it",
				Remedy: []string{"take it from a secret"}})
		}
	}
	for _, m := range v.Members {
		for _, warning := range m.Warnings {
			out = append(out, engine.Risk{Subject: "member " + m.Name, What: warning})
		}
	}
	return out
}
