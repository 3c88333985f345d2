package archive

import (
	"fmt"
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

	// counts: because this one is there, another one may go, whether a schedule took it or not.
	counts bool
}

func (r Retention) keepsAll() bool {
	return r.Within <= 0 && r.Last <= 0 && r.Daily <= 0 && r.Weekly <= 0 && r.Monthly <= 0 && r.Yearly <= 0
}

// Decide judges the entries of one cluster, newest first. now is the store's time, as are the times at which the
// manifests appeared. proven reports whether the proof of an entry can be relied on; it must know that already, so that
// the same entries give the same decisions. The newest backup, the newest one that was ever restored, what a hold
// keeps, and what another kept one adds to always stay.
func (r Retention) Decide(entries []Entry, now time.Time, proven func(Entry) bool) []Decision {
	d := decider{out: make([]Decision, len(entries)), byAttempt: map[string]int{}}
	for i, e := range entries {
		d.out[i] = Decision{Entry: e, Reason: "no rule keeps it"}
		d.byAttempt[e.Attempt] = i
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

type decider struct {
	out       []Decision
	byAttempt map[string]int
}

func (d *decider) keep(i int, reason string) {
	if !d.out[i].Keep {
		d.out[i].Keep, d.out[i].Reason = true, reason
	}
}

func (d *decider) always(now time.Time, proven func(Entry) bool, all bool) {
	restorable := ""
	for i, e := range d.out {
		switch {
		case e.HeldUntil.After(now):
			d.keep(i, "held until "+e.HeldUntil.UTC().Format(time.RFC3339))
		case !e.Scheduled:
			d.keep(i, "no schedule took it")
		case i == 0:
			d.keep(i, "the newest")
		case all:
			d.keep(i, "nothing says what may go")
		}
		// Two names may claim one attempt. Its data stays if any of them does.
		first := restorable == "" || restorable == e.Attempt
		if first && e.Proof != nil && e.Proof.Level == LevelRestorable && proven(e.Entry) {
			restorable, d.out[i].counts = e.Attempt, true
			d.keep(i, "the newest that was restored and compared")
		}
	}
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
	for i, e := range d.out {
		if now.Sub(e.Stored) < w {
			d.keep(i, "in the window of the log")
		} else if e.Log != nil {
			d.out[i].counts = true
			d.keep(i, "the window of the log begins behind it")
			return
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

// parents keeps what kept ones add to. A parent is older, so that one pass from the newest on finds all.
func (d *decider) parents() {
	for _, e := range d.out {
		if parent, ok := d.byAttempt[e.Parent]; e.Keep && ok {
			d.keep(parent, addsTo(e.Entry))
		}
	}
}

// addsTo is why a backup stays that another one adds to.
func addsTo(e Entry) string { return e.ID + " adds to it" }
