package cluster

import (
	"cmp"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
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
func listOptions(f *command.Factory, out *printer.Output, t *clients.Target) error {
	lister, ok := t.Engine.(engine.OptionLister)
	if !ok {
		return fmt.Errorf("the options of %s can't be listed", t.Engine.Name())
	}
	options, err := lister.ListOptions(t.Cluster.Spec.Version)
	if err != nil {
		return err
	}
	effective, err := t.Engine.Options(t.Cluster, t.Cluster.Spec.Version)
	if err != nil {
		return err
	}
	var sheets []optionSheet
	for _, o := range options {
		s := optionSheet{Option: o, Value: o.Default, From: "default"}
		if ours, ok := effective[o.Name]; ok {
			s.Value, s.From = ours, "dbop"
		}
		if _, ok := t.Cluster.Spec.Config[o.Name]; ok {
			s.From = "you"
		}
		if o.Managed != "" {
			s.From = "dbop"
		}
		sheets = append(sheets, s)
	}
	if !out.Human() {
		return out.Print(f.Streams.Out, "OptionList", printer.List[optionSheet]{Items: sheets})
	}
	if out.Name() {
		for _, s := range sheets {
			fmt.Fprintln(f.Streams.Out, "option/"+s.Name)
		}
		return nil
	}
	return printOptions(f, out, sheets)
}

func printOptions(f *command.Factory, out *printer.Output, sheets []optionSheet) error {
	columns := []string{"OPTION", "VALUE", "FROM", "DEFAULT", "ALLOWED"}
	if out.Wide() {
		columns = append(columns, "KIND", "RESTART")
	}
	t := out.NewTable(columns...)
	for _, s := range sheets {
		restart := "no"
		if s.Restart {
			restart = "yes"
		}
		switch {
		case s.Managed == "":
			t.Row(s.Name, s.Value, s.From, s.Default, s.Allowed, s.Kind, restart)
		case out.Wide():
			t.Row(s.Name, cmp.Or(s.Value, "<managed>"), s.From, "<managed>", "managed: "+s.Managed, "<managed>", restart)
		}
	}
	return t.Print(f.Streams.Out, "")
}
