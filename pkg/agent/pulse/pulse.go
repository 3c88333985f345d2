// Package pulse has what a process does now and then happen together: to wake up costs more than the work. The agents
// of one cluster have the same pulses: what one sends with a pulse comes while the others are awake.
package pulse

import (
	"hash/fnv"
	"os"
	"strconv"
	"time"
)

// variable names, in the environment, where in a round the pulses of a process are counted from, in nanoseconds.
const variable = "DBOP_PULSE"

// round is what all intervals should divide: only those are the same in all processes of a cluster.
const round = time.Minute

// origin is where the pulses of this process are counted from.
//
//nolint:gochecknoglobals // it never changes
var origin = begin(os.Getenv(variable), time.Now())

// Shared returns the variable of the environment, as NAME=VALUE, by which all processes that get one for the same name
// have the same pulses, on all machines whose clocks agree. Others have other ones, so that not all clusters of a
// machine write to its disk at the same time.
func Shared(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	return variable + "=" + strconv.FormatUint(h.Sum64()%uint64(round), 10)
}

// begin is the last time up to now at which a round began.
func begin(shared string, now time.Time) time.Time {
	offset, err := strconv.ParseInt(shared, 10, 64)
	if err != nil {
		return now // nobody shares its pulses
	}
	since := (now.UnixNano() - offset) % int64(round)
	return now.Add(-time.Duration(since)) // it keeps the monotonic clock: nobody can set that
}

// Next returns the time until the next pulse of an interval: all pulses of intervals that divide each other come at the
// same time. It is above 0, and at most the interval.
func Next(interval time.Duration) time.Duration {
	since := time.Since(origin) % interval
	if since < 0 {
		since += interval // a test has a clock of its own
	}
	return interval - since
}
