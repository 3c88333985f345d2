package etcd

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Lint implements engine.Renderer. It names the first offence in the order of
// the alphabet. A flag that a version does not know keeps etcd from starting,
// so this is asked of an upgrade's target before a pod is touched.
func (*Engine) Lint(config map[string]string, target string) error {
	v, err := supported(target)
	if err != nil {
		return err
	}
	return lint(config, v)
}

func lint(config map[string]string, v version) error {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		if err := lintOption(name, config[name], v); err != nil {
			return err
		}
	}
	return lintTogether(config)
}

func lintOption(name, value string, v version) error {
	const list = "see etcd --help of that version for its options"
	if strings.HasPrefix(name, "-") {
		return refuse("config", "write "+strings.TrimLeft(name, "-"), "option %q is written with leading dashes", name)
	}
	if reason, ok := managedBecause(name); ok {
		return refuse("config", "remove "+name+" from the options", "option %s is managed by this tool: %s", name, reason)
	}
	o, ok := options[name]
	if !ok {
		hint := list
		if near := nearest(name, maps.Keys(options)); near != "" {
			hint = "did you mean " + near + "?"
		}
		return refuse("config", hint, "option %q is not known to etcd", name)
	}
	if v.minor < o.since {
		return refuse("config", list, "option %s exists from etcd 3.%d on, not in %s", name, o.since, v.line())
	}
	if v.minor > o.until {
		hint := "remove " + name + " from the options"
		if o.instead != "" {
			hint = "use " + o.instead
		}
		return refuse("config", hint, "option %s was removed in etcd 3.%d and %s does not start with it", name, o.until+1, v)
	}
	if name == quotaOption {
		_, err := parseQuota(value)
		return err
	}
	if !o.kind.fits(value) {
		return refuse("config", "write "+o.kind.allowed, "option %s has the value %q, which etcd does not start with", name, value)
	}
	if name == featureGates {
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
	if keep := value(retentionOption, ourRetention); value(modeOption, ourMode) == "revision" && !atLeast(0).fits(keep) {
		return refuse("config", "set "+retentionOption+" to the number of revisions to keep", "option %s=revision needs a number, and %s is %q", modeOption, retentionOption, keep)
	}
	beat, _ := strconv.Atoi(value("heartbeat-interval", options["heartbeat-interval"].fallback))
	elect, _ := strconv.Atoi(value("election-timeout", options["election-timeout"].fallback))
	if elect < 5*beat {
		return refuse("config", "set election-timeout to five times heartbeat-interval or more",
			"election-timeout of %d ms is less than five times heartbeat-interval of %d ms, and etcd does not start with it", elect, beat)
	}
	return nil
}

// lintGates keeps the gates that this tool opens from being set a second time.
func lintGates(value string) error {
	for gate := range strings.SplitSeq(value, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if slices.Contains(ourGates(), name) {
			return refuse("config", fmt.Sprintf("remove %s from %s", name, featureGates),
				"feature gate %s is managed by this tool: corruption checks are always on", name)
		}
	}
	return nil
}
