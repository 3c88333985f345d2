package lease

import "time"

// moment is a time from which a duration is counted, also while this machine
// is suspended. Go's own clock stops then, and the wall clock can be set
// back; whichever went further counts, so that who holds a lease never takes it
// for longer than others do.
type moment struct{ running, wall time.Time }

func now() moment {
	t := time.Now()
	return moment{running: t, wall: t.Round(0)}
}

// elapsed is how long ago the moment was.
func (m moment) elapsed() time.Duration {
	t := time.Now()
	return max(t.Sub(m.running), t.Round(0).Sub(m.wall))
}
