package cli

import (
	"cmp"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// optionSheet is one option of a cluster, for machines.
type optionSheet struct {
	engine.Option `json:",inline"`
	Value         string `json:"value,omitempty"`
	// From says who chose the value: you, dbop or default.
	From string `json:"from,omitempty"`
}

// listOptions prints what a cluster's options are and may be.
func listOptions(f *Factory, out *output, t *target) error {
	lister, ok := t.engine.(engine.OptionLister)
	if !ok {
		return fmt.Errorf("the options of %s can't be listed", t.engine.Name())
	}
	options, err := lister.ListOptions(t.cluster.Spec.Version)
	if err != nil {
		return err
	}
	effective, err := t.engine.Options(t.cluster, t.cluster.Spec.Version)
	if err != nil {
		return err
	}
	var sheets []optionSheet
	for _, o := range options {
		s := optionSheet{Option: o, Value: o.Default, From: "default"}
		if ours, ok := effective[o.Name]; ok {
			s.Value, s.From = ours, "dbop"
		}
		if _, ok := t.cluster.Spec.Config[o.Name]; ok {
			s.From = "you"
		}
		if o.Managed != "" {
			s.From = "dbop"
		}
		sheets = append(sheets, s)
	}
	if !out.human() {
		return out.print(f.Streams.Out, "OptionList", list[optionSheet]{Items: sheets})
	}
	if out.name() {
		for _, s := range sheets {
			fmt.Fprintln(f.Streams.Out, "option/"+s.Name)
		}
		return nil
	}
	return printOptions(f, out, sheets)
}

func printOptions(f *Factory, out *output, sheets []optionSheet) error {
	columns := []string{"OPTION", "VALUE", "FROM", "DEFAULT", "ALLOWED"}
	if out.wide() {
		columns = append(columns, "KIND", "RESTART")
	}
	t := out.newTable(columns...)
	for _, s := range sheets {
		restart := "no"
		if s.Restart {
			restart = "yes"
		}
		switch {
		case s.Managed == "":
			t.row(s.Name, s.Value, s.From, s.Default, s.Allowed, s.Kind, restart)
		case out.wide():
			t.row(s.Name, cmp.Or(s.Value, "<managed>"), s.From, "<managed>", "managed: "+s.Managed, "<managed>", restart)
		}
	}
	return t.print(f.Streams.Out, "")
}
