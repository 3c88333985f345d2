package etcd

import (
	"fmt"
	"maps"
	"slices"
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
	return nil
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
		return refuse("config", list, "option %q is not known to etcd", name)
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
	switch name {
	case quotaOption:
		return lintQuota(value)
	case featureGates:
		return lintGates(value)
	}
	return nil
}

func lintQuota(value string) error {
	_, err := parseQuota(value)
	return err
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
