// Package floors knows the settings that a server in recovery must have at least as high as the server that wrote the
// log which it reads (section 27.4.3 of PostgreSQL's manual). They are raised on the replicas first, and lowered on the
// primary first.
package floors

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Values are such settings.
type Values map[string]int64

// Asked returns the values of all of them that people want, or that a server of 13 to 18 has by itself.
func Asked(settings map[string]string) Values {
	out := Values{"max_connections": 100, "max_worker_processes": 8, "max_prepared_transactions": 0,
		"max_locks_per_transaction": 64}
	for name := range out {
		if n, ok := whole(settings[name]); ok {
			out[name] = n
		}
	}
	return out
}

// SuperuserReserved are the connections that the agent keeps for itself (superuser_reserved_connections).
const SuperuserReserved = 5

// CheckConnections refuses settings that leave no connection to anybody: a server does not start with them, and its
// program does not say so when it only reads them.
func CheckConnections(settings map[string]string) error {
	reserved, _ := whole(settings["reserved_connections"])
	if most := Asked(settings)["max_connections"]; most <= SuperuserReserved+reserved {
		return fmt.Errorf("max_connections is %d: it must be above reserved_connections (%d) and %d more that are kept for "+
			"the agent", most, reserved, SuperuserReserved)
	}
	return nil
}

// Written reads, in the output of pg_controldata, the values with which the log was written.
func Written(controldata string) Values {
	names := map[string]string{
		"max_connections setting": "max_connections", "max_worker_processes setting": "max_worker_processes",
		"max_prepared_xacts setting": "max_prepared_transactions",
		"max_locks_per_xact setting": "max_locks_per_transaction",
	}
	out := Values{}
	for line := range strings.Lines(controldata) {
		key, value, _ := strings.Cut(line, ":")
		if n, ok := whole(value); ok && names[key] != "" {
			out[names[key]] = n
		}
	}
	return out
}

// Raise returns settings that are nowhere below what a server in recovery needs.
func (v Values) Raise(settings map[string]string) map[string]string {
	raised := maps.Clone(settings)
	if raised == nil {
		raised = map[string]string{}
	}
	for name, least := range v {
		if set, is := whole(raised[name]); !is || set < least {
			raised[name] = strconv.FormatInt(least, 10)
		}
	}
	return raised
}

// Above lists the settings that are higher than in other values, in order.
func (v Values) Above(other Values) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if least, ok := other[name]; ok && v[name] > least {
			out = append(out, name)
		}
	}
	return out
}

// whole reads a number as the server reads one of these settings: 256, 0x100, 0400 and 2.56e2 are the same (section
// 20.1.1 of the manual).
func whole(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return int64(math.RoundToEven(f)), err == nil && math.Abs(f) < math.MaxInt32
}
