package agreed

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Options that are the agents' own, beside the settings of the server.
const (
	durabilityOption  = "durability"
	acknowledgeOption = "acknowledge"
	maxLagOption      = "max-lag"
)

// ReadonlyLag is the option that bounds how old data replicas serve, of engines whose replicas tell that.
const ReadonlyLag = "readonly-lag"

// Settings reads the options of a spec as what agents agree on first. Those that are not the agents' own are settings
// of the server.
func Settings(config map[string]string) (protocol.Settings, error) {
	out := protocol.Settings{Version: 1, Timing: protocol.DefaultTiming(), Durability: protocol.Preferred, Acknowledge: 1,
		MaxLag: 16 << 20, Values: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		value := config[name]
		switch name {
		case durabilityOption:
			out.Durability = protocol.Durability(value)
		case acknowledgeOption:
			n, err := strconv.Atoi(value)
			if err != nil {
				return out, badOption(name, value, "a number of standbys")
			}
			out.Acknowledge = n
		case maxLagOption:
			q, err := resource.ParseQuantity(value)
			if err != nil || q.Value() < 0 {
				return out, badOption(name, value, "an amount of the log, such as 16Mi")
			}
			out.MaxLag = uint64(q.Value()) //nolint:gosec // it is not negative
		case ReadonlyLag:
			bound, err := time.ParseDuration(value)
			if err != nil || bound < 0 || bound%time.Second != 0 {
				return out, badOption(name, value, "whole seconds, such as 30s, or 0 for no bound")
			}
			out.ReadonlyLag = readonlyLag(bound)
		default:
			if isTime(name) {
				if err := setTime(&out.Timing, name, value); err != nil {
					return out, err
				}
				continue
			}
			out.Values[name] = value
		}
	}
	if out.Durability == protocol.Async {
		out.Acknowledge = 0
	}
	if err := out.Check(); err != nil {
		return out, &engine.Refusal{Check: "settings", Reason: err.Error(), Hint: "give other values"}
	}
	return out, nil
}

// OwnOptions are the options of the agents themselves, for engine.OptionLister.
func OwnOptions() []engine.Option {
	standard, _ := Settings(nil) // it has no option that could be wrong
	defaults := Options(standard)
	return append(timeOptions(defaults), []engine.Option{
		{Name: acknowledgeOption, Kind: "integer", Allowed: "how many replicas confirm a write",
			Default: defaults[acknowledgeOption]},
		{Name: ArchiveRepository, Kind: "string", Allowed: "the name of a repository"},
		{Name: durabilityOption, Kind: "enum", Allowed: "strict, preferred, async", Default: defaults[durabilityOption]},
		{Name: maxLagOption, Kind: "quantity", Allowed: "how much of the log a failover may lose, such as 16Mi",
			Default: "16Mi"},
		{Name: ReadonlyLag, Kind: "duration", Allowed: "how old data replicas serve if others have newer, or 0",
			Default: defaults[ReadonlyLag]},
	}...)
}

// readonlyLag is a bound as agents agree on it: what is usual is not told, so that older ones understand it.
func readonlyLag(bound time.Duration) time.Duration {
	switch bound {
	case protocol.DefaultReadonlyLag:
		return 0
	case 0:
		return protocol.NoReadonlyLag
	}
	return bound
}

func badOption(name, value, want string) error {
	return &engine.Refusal{Check: "settings", Reason: fmt.Sprintf("the option %s is %q, and takes %s", name, value, want),
		Hint: "give it another value"}
}

// Options are settings as the options of a spec name them.
func Options(s protocol.Settings) map[string]string {
	out := maps.Clone(s.Values)
	if out == nil {
		out = map[string]string{}
	}
	out[durabilityOption] = string(s.Durability)
	out[acknowledgeOption] = strconv.Itoa(s.Acknowledge)
	out[maxLagOption] = strconv.FormatUint(s.MaxLag, 10)
	maps.Copy(out, showTimes(s.Timing))
	switch s.ReadonlyLag {
	case 0:
		out[ReadonlyLag] = protocol.DefaultReadonlyLag.String()
	case protocol.NoReadonlyLag:
		out[ReadonlyLag] = "0s"
	default:
		out[ReadonlyLag] = s.ReadonlyLag.String()
	}
	return out
}
