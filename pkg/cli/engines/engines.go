package engines

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// engineSheet is one engine, for machines.
type engineSheet struct {
	Name     string           `json:"name"`
	Default  string           `json:"default"`
	Releases []engine.Release `json:"releases"`
}

// NewEngines makes the command engines.
func NewEngines(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatWide, printer.FormatName)
	cmd := &cobra.Command{
		Use:   "engines",
		Short: "List the database products and their versions",
		Long:  "List the database products and their versions. It needs no cluster.",
		Example: `  # List products, versions and images
  kubectl dbop engines -o wide`,
		Args:              command.Arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return runEngines(f, out)
		},
	}
	out.AddTo(cmd)
	cmd.AddCommand(NewImages(f))
	return cmd
}

func runEngines(f *command.Factory, out *printer.Output) error {
	var sheets []engineSheet
	for _, e := range f.Engines {
		c := e.Catalog()
		sheets = append(sheets, engineSheet{Name: e.Name(), Default: c.Default, Releases: c.Releases})
	}
	slices.SortFunc(sheets, func(a, b engineSheet) int { return strings.Compare(a.Name, b.Name) })
	if !out.Human() {
		return out.Print(f.Streams.Out, "EngineList", printer.List[engineSheet]{Items: sheets})
	}
	columns := []string{"NAME", "VERSION", "DEFAULT"}
	if out.Wide() {
		columns = append(columns, "IMAGE")
	}
	t := out.NewTable(columns...)
	for _, s := range sheets {
		if out.Name() {
			if _, err := f.Streams.Out.Write([]byte("engine/" + s.Name + "\n")); err != nil {
				return err
			}
			continue
		}
		for _, r := range s.Releases {
			chosen := "no"
			if r.Version == s.Default {
				chosen = "yes"
			}
			row := []string{s.Name, r.Version, chosen}
			if out.Wide() {
				row = append(row, engine.Mirrored(r.Image, f.Getenv(command.EnvRegistry)))
			}
			t.Row(row...)
		}
	}
	if out.Name() {
		return nil
	}
	return t.Print(f.Streams.Out, "")
}

// Special are the commands that only some engines have, and the names of these.
func Special(f *command.Factory) (string, []*cobra.Command) {
	var names []string
	for _, e := range f.Engines {
		if _, keeps := e.(engine.CompactionRules); keeps {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	all := strings.Join(names, ", ")
	commands := []*cobra.Command{NewAlarms(f), NewCompact(f), NewDefrag(f)}
	onlyFor(all, commands)
	return all, commands
}

// onlyFor says in the help of commands which engines have them.
func onlyFor(engines string, commands []*cobra.Command) {
	for _, c := range commands {
		c.Long += "\n\nOnly clusters of " + engines + " have this."
		onlyFor(engines, c.Commands())
	}
}
