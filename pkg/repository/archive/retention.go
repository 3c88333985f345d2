package archive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Retention says which scheduled backups of one cluster stay: those that any of its rules names. Backups that
// no schedule took always stay. The zero value keeps all.
type Retention struct {
	// Within keeps all that are younger.
	Within time.Duration
	// Last keeps so many newest ones.
	Last int
	// Daily and so on keep the newest one of each of so many days, weeks (from Monday), months and years that
	// have any, in Location, which is UTC if it is nil.
	Daily, Weekly, Monthly, Yearly int
	Location                       *time.Location
	// LogWindow keeps what a restore to any moment this far back starts from.
	LogWindow time.Duration
}

// Decision is what a retention makes of one backup.
type Decision struct {
	Entry

	Keep bool
	// Reason is shown to people.
	Reason string
	// RetainedUntil is set on what no rule keeps and the store does.
	RetainedUntil time.Time `json:",omitzero"`

	// counts: because this one is there, another one may go, whether a schedule took it or not.
	counts bool
}

func (r Retention) keepsAll() bool {
	return r.Within <= 0 && r.Last <= 0 && r.Daily <= 0 && r.Weekly <= 0 && r.Monthly <= 0 && r.Yearly <= 0
}

// Decide judges the entries of one cluster, and returns them newest first. now is the store's time, as are the times
// at which the manifests appeared. proven reports whether the proof of an entry can be relied on; it must know that
// already, so that the same entries give the same decisions. The newest backup, the one that was stored last, the
// newest one that was ever restored, what a hold keeps, and what another kept one adds to always stay. If a later proof
// of the newest one that was restored failed, so does the newest one before it of which none did.
func (r Retention) Decide(entries []Entry, now time.Time, proven func(Entry) bool) []Decision {
	d := decider{out: make([]Decision, len(entries)), byAttempt: map[string][]int{}}
	for i, e := range newestFirst(entries) {
		d.out[i] = Decision{Entry: e, Reason: "no rule keeps it"}
		d.byAttempt[e.Attempt] = append(d.byAttempt[e.Attempt], i)
	}
	d.always(now, proven, r.keepsAll())
	d.recent(r, now)
	d.window(r.LogWindow, now)
	for _, p := range r.periods() {
		d.periods(p)
	}
	d.parents()
	return d.out
}

// newestFirst sorts by when backups were started, as far as that can be believed.
func newestFirst(entries []Entry) []Entry {
	return slices.SortedStableFunc(slices.Values(entries), func(x, y Entry) int {
		return cmp.Or(y.started().Compare(x.started()), strings.Compare(y.Attempt, x.Attempt))
	})
}

// started is by the clock of who took the backup, and not later than the store stored it: one that a clock far ahead
// named would be the newest for years. What was imported is as old as it was.
func (e Entry) started() time.Time {
	at := e.StartedAt
	if at.IsZero() || !e.Stored.IsZero() && e.Stored.Before(at) {
		at = e.Stored
	}
	return at.Truncate(time.Second) // no store tells more for sure
}

type decider struct {
	out       []Decision
	byAttempt map[string][]int
}

func (d *decider) keep(i int, reason string) {
	if !d.out[i].Keep {
		d.out[i].Keep, d.out[i].Reason = true, reason
	}
}

func (d *decider) always(now time.Time, proven func(Entry) bool, all bool) {
	restorable, last := "", d.last()
	for i, e := range d.out {
		switch {
		case e.HeldUntil.After(now):
			d.keep(i, "held until "+e.HeldUntil.UTC().Format(time.RFC3339))
		case !e.Scheduled:
			d.keep(i, "no schedule took it")
		case i == 0:
			d.keep(i, "the newest")
		case i == last:
			d.keep(i, "the last that was stored")
		case all:
			d.keep(i, "nothing says what may go")
		}
		// Two names may claim one attempt. Its data stays if any of them does.
		first := restorable == "" || restorable == e.Attempt
		if first && e.Proof != nil && e.Proof.Level == LevelRestorable && proven(e.Entry) {
			d.out[i].counts = true
			reason := "the newest that was restored and compared"
			if restorable = e.Attempt; e.Failed != nil {
				restorable, reason = "", "it was restored and compared, and a later proof failed"
			}
			d.keep(i, reason)
		}
	}
}

// last is the scheduled backup that the store stored last; -1 if there is none. It may be named as an older one: by a
// clock that is behind.
func (d *decider) last() int {
	last := -1
	for i, e := range d.out {
		if e.Scheduled && (last < 0 || e.Stored.After(d.out[last].Stored)) {
			last = i
		}
	}
	return last
}

func (d *decider) recent(r Retention, now time.Time) {
	last := 0
	for i, e := range d.out {
		if r.Within > 0 && now.Sub(e.Stored) < r.Within {
			d.keep(i, "younger than "+r.Within.String())
		}
		if e.Scheduled && last < r.Last {
			last++
			d.keep(i, fmt.Sprintf("one of the last %d", r.Last))
		}
	}
}

// window keeps the newest full backup that is older than the window: the log is replayed from there.
func (d *decider) window(w time.Duration, now time.Time) {
	if w <= 0 {
		return
	}
	behind := false
	for i, e := range d.out {
		if now.Sub(e.Stored) < w {
			d.keep(i, "in the window of the log")
		} else if e.Log != nil && !behind {
			behind, d.out[i].counts = true, true
			d.keep(i, "the window of the log begins behind it")
		}
	}
}

// period is a rule such as "the newest of each of 4 weeks".
type period struct {
	count int
	name  string
	of    func(t time.Time) string
}

func (r Retention) periods() []period {
	at := r.Location
	if at == nil {
		at = time.UTC
	}
	layout := func(l string) func(time.Time) string {
		return func(t time.Time) string { return t.In(at).Format(l) }
	}
	return []period{
		{r.Daily, "day", layout(time.DateOnly)},
		{r.Weekly, "week", func(t time.Time) string {
			year, week := t.In(at).ISOWeek()
			return fmt.Sprintf("%d week %d", year, week)
		}},
		{r.Monthly, "month", layout("2006-01")},
		{r.Yearly, "year", layout("2006")},
	}
}

func (d *decider) periods(p period) {
	seen := map[string]bool{}
	for i, e := range d.out {
		if !e.Scheduled {
			continue
		}
		name := p.of(e.Stored)
		if seen[name] {
			continue
		}
		if len(seen) >= p.count {
			return
		}
		seen[name] = true
		d.keep(i, "the newest of "+p.name+" "+name)
	}
}

// parents keeps what kept ones add to. Names may lie about which one is older, and two may claim one attempt.
func (d *decider) parents() {
	for changed := true; changed; {
		changed = false
		for _, e := range d.out {
			for _, parent := range d.byAttempt[e.Parent] {
				if e.Keep && !d.out[parent].Keep {
					d.keep(parent, addsTo(e.Entry))
					changed = true
				}
			}
		}
	}
}

// addsTo is why a backup stays that another one adds to.
func addsTo(e Entry) string { return e.ID + " adds to it" }
