package agreed

import (
	"slices"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// driftOption is how wrong a clock may run, in parts per million.
const driftOption = "drift-ppm"

// oneTime is an option of the times of the agents.
type oneTime struct {
	name, allowed string
	of            func(*protocol.Timing) *time.Duration
}

// times are the options that are durations.
func times() []oneTime {
	return []oneTime{
		{"agreement", "how long one agreement of the agents takes at most",
			func(t *protocol.Timing) *time.Duration { return &t.Agreement }},
		{"election-bound", "how long the agents take for another leader at most",
			func(t *protocol.Timing) *time.Duration { return &t.ElectionBound }},
		{"kill-and-reap", "how long the end of all processes of a server takes at most",
			func(t *protocol.Timing) *time.Duration { return &t.KillAndReap }},
		{"lease", "after which time without a renewal another member may lead",
			func(t *protocol.Timing) *time.Duration { return &t.Lease }},
		{"probe-age", "how old the last flush of a primary may be",
			func(t *protocol.Timing) *time.Duration { return &t.ProbeAge }},
		{"renewal", "how often the primary renews its lease",
			func(t *protocol.Timing) *time.Duration { return &t.Renewal }},
		{"scheduling", "how late the guard wakes up at most",
			func(t *protocol.Timing) *time.Duration { return &t.Scheduling }},
		{"stop", "the part of the lease that is kept for stopping the primary",
			func(t *protocol.Timing) *time.Duration { return &t.Stop }},
	}
}

// FixedOptions are the times of the agents, by name: they are given when a cluster is made.
func FixedOptions() []string {
	out := []string{driftOption}
	for _, one := range times() {
		out = append(out, one.name)
	}
	slices.Sort(out)
	return out
}

func isTime(name string) bool { return slices.Contains(FixedOptions(), name) }

// setTime reads one of them. What breaks a rule of the protocol, the protocol says.
func setTime(t *protocol.Timing, name, value string) error {
	if name == driftOption {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return badOption(name, value, "parts per million")
		}
		t.DriftPPM = n
	}
	for _, one := range times() {
		if one.name != name {
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			return badOption(name, value, "a time, such as 1500ms")
		}
		*one.of(t) = d
	}
	return nil
}

// showTimes are the times as the options of a spec name them.
func showTimes(t protocol.Timing) map[string]string {
	out := map[string]string{driftOption: strconv.FormatInt(t.DriftPPM, 10)}
	for _, one := range times() {
		out[one.name] = one.of(&t).String()
	}
	return out
}

func timeOptions(defaults map[string]string) []engine.Option {
	out := []engine.Option{{Name: driftOption, Kind: "integer", Default: defaults[driftOption],
		Allowed: "how wrong a clock may run, in parts per million; for create"}}
	for _, one := range times() {
		out = append(out, engine.Option{Name: one.name, Kind: "duration", Allowed: one.allowed + "; for create",
			Default: defaults[one.name]})
	}
	return out
}
