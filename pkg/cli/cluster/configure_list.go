package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// optionsWithin bounds the question to a member.
const optionsWithin = 30 * time.Second

// listOptions prints what a cluster's options are and may be.
func listOptions(ctx context.Context, f *command.Factory, out *printer.Output, t *clients.Target,
	timeout time.Duration) error {
	told, err := f.ReadOptions(ctx, t, timeout)
	if err != nil {
		return err
	}
	sheets, err := ops.Options(t.Engine, t.Cluster, told)
	if err != nil {
		return err
	}
	if !out.Human() {
		return out.Print(f.Streams.Out, "OptionList", printer.List[ops.OptionState]{Items: sheets})
	}
	if out.Name() {
		for _, s := range sheets {
			fmt.Fprintln(f.Streams.Out, "option/"+s.Name)
		}
		return nil
	}
	return printOptions(f, out, sheets)
}

func printOptions(f *command.Factory, out *printer.Output, sheets []ops.OptionState) error {
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
