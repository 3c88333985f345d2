package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// engineSheet is one engine, for machines.
type engineSheet struct {
	Name     string           `json:"name"`
	Default  string           `json:"default"`
	Releases []engine.Release `json:"releases"`
}

func newEngines(f *Factory) *cobra.Command {
	out := newTables(formatWide, formatName)
	cmd := &cobra.Command{
		Use:   "engines",
		Short: "List the database products and their versions",
		Long:  "List the database products and their versions. It needs no cluster.",
		Example: `  # List products, versions and images
  kubectl dbop engines -o wide`,
		Args:              arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return runEngines(f, out)
		},
	}
	out.addTo(cmd)
	return cmd
}

func runEngines(f *Factory, out *output) error {
	var sheets []engineSheet
	for _, e := range f.Engines {
		c := e.Catalog()
		sheets = append(sheets, engineSheet{Name: e.Name(), Default: c.Default, Releases: c.Releases})
	}
	slices.SortFunc(sheets, func(a, b engineSheet) int { return strings.Compare(a.Name, b.Name) })
	if !out.human() {
		return out.print(f.Streams.Out, "EngineList", list[engineSheet]{Items: sheets})
	}
	columns := []string{"NAME", "VERSION", "DEFAULT"}
	if out.wide() {
		columns = append(columns, "IMAGE")
	}
	t := out.newTable(columns...)
	for _, s := range sheets {
		if out.name() {
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
			if out.wide() {
				row = append(row, engine.Mirrored(r.Image, f.Getenv(envRegistry)))
			}
			t.row(row...)
		}
	}
	if out.name() {
		return nil
	}
	return t.print(f.Streams.Out, "")
}
