package v1alpha1

import (
	"fmt"
	"strings"
)

// Retention says which scheduled backups stay: those that any of its rules keeps. Without a rule all stay. Backups
// taken by hand always do, and so do the newest one and the newest verified one.
type Retention struct {
	// Keep is how many scheduled backups stay; older ones are deleted after each
	// run. Those taken by hand always stay, and so does the newest verified one.
	// +kubebuilder:validation:Minimum=1
	Keep int32 `json:"keep,omitempty"`
	// KeepFor is how long scheduled backups stay, in hours, days or weeks: "36h", "7d", "4w".
	// +kubebuilder:validation:MaxLength=8
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*[hdw]$`
	KeepFor string `json:"keepFor,omitempty"`
	// KeepDaily keeps the newest one of each of so many days that have any, and
	// so on. Days begin in the time zone of the schedule, weeks on Monday.
	// +kubebuilder:validation:Minimum=1
	KeepDaily int32 `json:"keepDaily,omitempty"`
	// +kubebuilder:validation:Minimum=1
	KeepWeekly int32 `json:"keepWeekly,omitempty"`
	// +kubebuilder:validation:Minimum=1
	KeepMonthly int32 `json:"keepMonthly,omitempty"`
	// +kubebuilder:validation:Minimum=1
	KeepYearly int32 `json:"keepYearly,omitempty"`
}

// KeepsAll reports whether no rule lets a backup go.
func (r Retention) KeepsAll() bool { return r == Retention{} }

// Kept is what stays as people read it: "the newest 7, those of 7d, one of each of 4 weeks"; "" for all.
func (r Retention) Kept() string {
	var out []string
	if r.Keep > 0 {
		out = append(out, fmt.Sprintf("the newest %d", r.Keep))
	}
	if r.KeepFor != "" {
		out = append(out, "those of "+r.KeepFor)
	}
	for _, p := range []struct {
		count int32
		name  string
	}{{r.KeepDaily, "days"}, {r.KeepWeekly, "weeks"}, {r.KeepMonthly, "months"}, {r.KeepYearly, "years"}} {
		if p.count > 0 {
			out = append(out, fmt.Sprintf("one of each of %d %s", p.count, p.name))
		}
	}
	return strings.Join(out, ", ")
}

// Interval is how often something is done by a schedule of backups: by the first run of each day, week (from Monday) or
// month of its time zone.
// +kubebuilder:validation:Enum=daily;weekly;monthly
type Interval string

// How often; "" is for each field to say.
const (
	Daily   Interval = "daily"
	Weekly  Interval = "weekly"
	Monthly Interval = "monthly"
)
