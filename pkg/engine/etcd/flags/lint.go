package flags

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// Lint refuses the first option, in the order of the alphabet, that a server of
// this version does not take: an unknown or managed name, or a value that does not
// fit. It is pure.
func Lint(config map[string]string, v versions.Version) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if err := lintOption(name, config[name], v); err != nil {
			return err
		}
	}
	return lintTogether(config)
}

func lintOption(name, value string, v versions.Version) error {
	const list = "see etcd --help of that version for its options"
	if strings.HasPrefix(name, "-") {
		return refusal.New("config", "write "+strings.TrimLeft(name, "-"), "option %q is written with leading dashes", name)
	}
	if reason, ok := ManagedBecause(name); ok {
		return refusal.New("config", "remove "+name+" from the options", "option %s is managed by this tool: %s", name,
			reason)
	}
	o, ok := options[name]
	if !ok {
		hint := list
		if near := nearest(name, maps.Keys(options)); near != "" {
			hint = "did you mean " + near + "?"
		}
		return refusal.New("config", hint, "option %q is not known to etcd", name)
	}
	if v.Minor < o.Since {
		return refusal.New("config", list, "option %s exists from etcd 3.%d on, not in %s", name, o.Since, v.Line())
	}
	if v.Minor > o.Until {
		hint := "remove " + name + " from the options"
		if o.Instead != "" {
			hint = "use " + o.Instead
		}
		return refusal.New("config", hint, "option %s was removed in etcd 3.%d and %s does not start with it", name,
			o.Until+1, v)
	}
	if name == QuotaOption {
		_, err := ParseQuota(value)
		return err
	}
	if !o.Kind.Fits(value) {
		return refusal.New("config", "write "+o.Kind.Allowed, "option %s has the value %q, which etcd does not start with",
			name, value)
	}
	if name == FeatureGates {
		return lintGates(value)
	}
	return nil
}

// lintTogether judges options that etcd judges together.
func lintTogether(config map[string]string) error {
	value := func(name, ours string) string {
		if own, ok := config[name]; ok {
			return own
		}
		return ours
	}
	if keep := value(RetentionOption, OurRetention); value(ModeOption, OurMode) == "revision" && !atLeast(0).Fits(keep) {
		return refusal.New("config", "set "+RetentionOption+" to the number of revisions to keep",
			"option %s=revision needs a number, and %s is %q", ModeOption, RetentionOption, keep)
	}
	beat, _ := strconv.Atoi(value("heartbeat-interval", options["heartbeat-interval"].Fallback))
	elect, _ := strconv.Atoi(value("election-timeout", options["election-timeout"].Fallback))
	if elect < 5*beat {
		return refusal.New("config", "set election-timeout to five times heartbeat-interval or more",
			"election-timeout of %d ms is less than five times heartbeat-interval of %d ms, and etcd does not start with it",
			elect, beat)
	}
	return nil
}

// lintGates keeps the gates that this tool opens from being set a second time.
func lintGates(value string) error {
	for gate := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if slices.Contains(ourGates(), name) {
			return refusal.New("config", fmt.Sprintf("remove %s from %s", name, FeatureGates),
				"feature gate %s is managed by this tool: corruption checks are always on", name)
		}
	}
	return nil
}
