package protocol

import (
	"fmt"
	"time"
)

// Instant is a reading of the CLOCK_BOOTTIME of one machine. Instants of two machines are never compared.
type Instant time.Duration

// Add returns the instant that is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Timing holds the times of a cluster. Check refuses a set with which two primaries could accept writes at once, or
// with which a healthy primary would lose its lease by one change of the group's leader.
type Timing struct {
	// Election is the time without a word of the group's leader after which a voter asks for votes.
	Election time.Duration `json:"election"`
	// Renewal is the interval at which the primary renews its lease.
	Renewal time.Duration `json:"renewal"`
	// Agreement bounds the time that the group takes to agree on one entry while it has a leader.
	Agreement time.Duration `json:"agreement"`
	// ElectionBound bounds the time that the group takes to get another leader.
	ElectionBound time.Duration `json:"electionBound"`
	// Lease is the time after the last renewal, on the clock of the group's leader, at which another primary may follow.
	Lease time.Duration `json:"lease"`
	// Stop is the part of the lease that is kept for stopping the primary.
	Stop time.Duration `json:"stop"`
	// KillAndReap bounds the time that the guard takes to kill and reap every process of the server.
	KillAndReap time.Duration `json:"killAndReap"`
	// Scheduling bounds the delay of the guard itself.
	Scheduling time.Duration `json:"scheduling"`
	// ProbeAge is the age of the last flush of the server at which its primary renews no longer.
	ProbeAge time.Duration `json:"probeAge"`
	// DriftPPM bounds how much faster or slower than real time a clock runs, in parts per million.
	DriftPPM int64 `json:"driftPPM"`
}

// DefaultTiming is the timing of a cluster that asks for none.
func DefaultTiming() Timing {
	return Timing{
		Election: time.Second, Renewal: time.Second, Agreement: 500 * time.Millisecond, ElectionBound: 3 * time.Second,
		Lease: 7 * time.Second, Stop: 1500 * time.Millisecond, KillAndReap: time.Second, Scheduling: 400 * time.Millisecond,
		ProbeAge: 10 * time.Second, DriftPPM: 1000,
	}
}

// Check returns an error that names the broken rule, or nil.
func (t Timing) Check() error {
	for _, v := range []struct {
		name  string
		value time.Duration
	}{
		{"election", t.Election},
		{"renewal", t.Renewal},
		{"agreement", t.Agreement},
		{"electionBound", t.ElectionBound},
		{"lease", t.Lease},
		{"stop", t.Stop},
		{"killAndReap", t.KillAndReap},
		{"scheduling", t.Scheduling},
		{"probeAge", t.ProbeAge},
	} {
		if v.value <= 0 || v.value > time.Hour {
			return fmt.Errorf("check the timing: %s is %s; it must be above 0 and at most 1h", v.name, v.value)
		}
	}
	if t.DriftPPM < 0 || t.DriftPPM > 100_000 {
		return fmt.Errorf("check the timing: driftPPM is %d; it must be from 0 to 100000", t.DriftPPM)
	}
	drift := t.Lease * time.Duration(2*t.DriftPPM) / 1_000_000
	if need := t.KillAndReap + t.Scheduling + drift; t.Stop < need {
		return fmt.Errorf("check the timing: stop is %s, but to kill and reap the server (%s), to be scheduled (%s) and "+
			"the drift of two clocks over a lease (%s) take %s: raise stop", t.Stop, t.KillAndReap, t.Scheduling, drift, need)
	}
	if need := t.Renewal + t.Agreement + t.ElectionBound; t.Lease-t.Stop <= need {
		return fmt.Errorf(
			"check the timing: lease - stop is %s, but a renewal (%s), its agreement (%s) and an election (%s) "+
				"take %s: raise lease", t.Lease-t.Stop, t.Renewal, t.Agreement, t.ElectionBound, need)
	}
	return nil
}
