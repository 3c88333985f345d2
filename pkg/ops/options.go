package ops

import (
	"cmp"
	"maps"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// OptionState is an option of a cluster, with its value.
type OptionState struct {
	engine.Option `json:",inline"`

	Value string `json:"value,omitempty"`
	// From says who chose the value: you, dbop or default; override where somebody set it on the member that told it
	// alone.
	From string `json:"from,omitempty"`
}

// Options lists what a cluster's options are and may be, in the order of names: those that the engine knows, and those
// that a server told of.
func Options(e engine.Engine, c *v1alpha1.DatabaseCluster, told []engine.LiveOption) ([]OptionState, error) {
	all := map[string]OptionState{}
	keeps := func(string) string { return "" }
	if live, ok := e.(engine.LiveSettings); ok {
		keeps = live.Keeps
	}
	for _, o := range told {
		s := OptionState{Option: o.Option, Value: o.Value, From: "default"}
		switch {
		case o.Overridden:
			s.From = "override"
		case o.Given:
			s.From = "dbop"
		}
		if s.Managed = keeps(o.Name); s.Managed == "" && o.Kept {
			s.Managed = "the agent sets it"
		}
		all[o.Name] = s
	}
	if lister, ok := e.(engine.OptionLister); ok {
		known, err := lister.ListOptions(c.Spec.Version)
		if err != nil {
			return nil, err
		}
		for _, o := range known {
			all[o.Name] = OptionState{Option: o, Value: o.Default, From: "default"}
		}
	}
	effective, err := e.Options(c, c.Spec.Version)
	if err != nil {
		return nil, err
	}
	for name, value := range effective {
		if s, known := all[name]; known {
			s.Value, s.From = value, "dbop"
			all[name] = s
		}
	}
	for name, value := range c.Spec.Config {
		s := all[name] // of a library that the server has not loaded, say, nothing is known
		if _, ours := effective[name]; !ours && (s.From == "default" || s.From == "") {
			s.Value = value
		}
		if s.Name = name; s.From != "override" {
			s.From = "you"
		}
		all[name] = s
	}
	out := slices.Collect(maps.Values(all))
	for i := range out {
		if out[i].Managed != "" {
			out[i].From = "dbop"
		}
	}
	slices.SortFunc(out, func(a, b OptionState) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
