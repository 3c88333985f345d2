package flags

import (
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

const (
	FeatureGates    = "feature-gates"
	ModeOption      = "auto-compaction-mode"
	RetentionOption = "auto-compaction-retention"
)

// OurMode and ourRetention keep an hour of history.
const (
	OurMode      = "periodic"
	OurRetention = "1h"
)

// ourGates are the feature gates that every cluster runs with from 3.6 on;
// etcd leaves them closed.
func ourGates() []string { return []string{"CompactHashCheck", "InitialCorruptCheck"} }

// Effective are the options of a member's process: our defaults, and a
// person's own on top. An option that is given etcd's own default is left out,
// as the process does the same with and without it: no member restarts for it.
func Effective(spec v1alpha1.DatabaseClusterSpec, v versions.Version) (map[string]string, error) {
	out, err := defaults(spec, v)
	if err != nil {
		return nil, err
	}
	for name, value := range spec.Config {
		if _, ours := out[name]; !ours && value == options[name].Usual(v) {
			continue
		}
		if name == FeatureGates {
			value = out[FeatureGates] + "," + value
		}
		out[name] = value
	}
	return out, nil
}

// defaults are ours where etcd's own don't suit: without compaction the
// history fills any quota, and the corruption checks are off.
func defaults(spec v1alpha1.DatabaseClusterSpec, v versions.Version) (map[string]string, error) {
	q, err := Quota(spec)
	if err != nil {
		return nil, err
	}
	out := map[string]string{
		ModeOption:      OurMode,
		RetentionOption: OurRetention,
		QuotaOption:     strconv.FormatInt(q, 10),
	}
	if v.Line().Less(versions.SchemaLine) {
		out["experimental-compact-hash-check-enabled"] = "true"
		out["experimental-initial-corrupt-check"] = "true"
		return out, nil
	}
	gates := ourGates()
	for i, gate := range gates {
		gates[i] = gate + "=true"
	}
	out[FeatureGates] = strings.Join(gates, ",")
	return out, nil
}
