package etcd

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.OptionLister = (*Engine)(nil)

// ListOptions implements engine.OptionLister. etcd reads all of its options
// when it starts, so a change of any restarts the members.
func (*Engine) ListOptions(target string) ([]engine.Option, error) {
	v, err := supported(target)
	if err != nil {
		return nil, err
	}
	var out []engine.Option
	for _, name := range slices.Sorted(maps.Keys(options)) {
		o := options[name]
		if v.minor < o.since || v.minor > o.until {
			continue
		}
		out = append(out, engine.Option{Name: name, Kind: o.kind.name, Allowed: o.kind.allowed, Default: o.usual(v), Restart: true})
	}
	for _, group := range managed {
		for _, name := range group.names {
			out = append(out, engine.Option{Name: name, Restart: true, Managed: group.reason})
		}
	}
	slices.SortFunc(out, func(a, b engine.Option) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// usual is etcd's own default in that version.
func (o option) usual(v version) string {
	if o.later != "" && !v.line().less(schemaLine) {
		return o.later
	}
	return o.fallback
}
