package etcd

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var _ engine.OptionLister = (*Engine)(nil)

// ListOptions implements engine.OptionLister. etcd reads all of its options
// when it starts, so a change of any restarts the members.
func (*Engine) ListOptions(target string) ([]engine.Option, error) {
	v, err := versions.Supported(target)
	if err != nil {
		return nil, err
	}
	var out []engine.Option
	for _, name := range slices.Sorted(maps.Keys(flags.All())) {
		o, _ := flags.Find(name)
		if v.Minor < o.Since || v.Minor > o.Until {
			continue
		}
		out = append(out, engine.Option{Name: name, Kind: o.Kind.Name, Allowed: o.Kind.Allowed, Default: o.Usual(v),
			Restart: true})
	}
	for _, group := range flags.Managed() {
		for _, name := range group.Names {
			out = append(out, engine.Option{Name: name, Restart: true, Managed: group.Reason})
		}
	}
	slices.SortFunc(out, func(a, b engine.Option) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
