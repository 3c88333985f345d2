package engines

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// imageSheet is one image that nodes may have to pull, for machines.
type imageSheet struct {
	// Engine and Version that it is of; the tool's own image has neither.
	Engine  string `json:"engine,omitempty"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source"`
	// Target is where the mirroring registry has it, "" without one.
	Target string `json:"target,omitempty"`
}

// NewImages makes the command images.
func NewImages(f *command.Factory) *cobra.Command {
	out := printer.NewTables(printer.FormatName)
	var name, registry string
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images that nodes may have to pull",
		Long: `List the images that nodes may have to pull: every version of the catalog, and this tool's own image for its
helper pods. With a registry, also under which name it must mirror each. It needs no cluster. With -o name only
the references to copy from are printed, one a line.`,
		Example: `  # List what to mirror, and where to
  kubectl dbop engines images --registry registry.example.com:5000

  # Save the list for another machine
  kubectl dbop engines images --engine etcd -o name > images.txt`,
		Args:              command.Arguments(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return runImages(f, out, name, f.Either(registry, command.EnvRegistry))
		},
	}
	out.AddTo(cmd)
	cmd.Flags().StringVar(&name, "engine", "", "Only the images of this database product, and the tool's own.")
	cmd.Flags().StringVar(&registry, "registry", "",
		"Registry that mirrors all images (environment: "+command.EnvRegistry+").")
	command.CompleteEngines(f, cmd)
	return cmd
}

func runImages(f *command.Factory, out *printer.Output, name, registry string) error {
	all, err := images(f, name, registry)
	if err != nil {
		return err
	}
	switch {
	case !out.Human():
		return out.Print(f.Streams.Out, "ImageList", printer.List[imageSheet]{Items: all})
	case out.Name():
		for _, i := range all {
			fmt.Fprintln(f.Streams.Out, i.Source)
		}
		return nil
	case registry == "":
		t := out.NewTable("ENGINE", "VERSION", "SOURCE")
		for _, i := range all {
			t.Row(i.Engine, i.Version, i.Source)
		}
		return t.Print(f.Streams.Out, "")
	}
	t := out.NewTable("SOURCE", "TARGET")
	for _, i := range all {
		t.Row(i.Source, i.Target)
	}
	return t.Print(f.Streams.Out, "")
}

// images lists what this version of the tool may ask nodes to pull. An image
// of the tool that is named in the environment is pulled from where it says.
func images(f *command.Factory, only, registry string) ([]imageSheet, error) {
	engines := f.Engines
	if only != "" {
		e, err := f.EngineNamed(only)
		if err != nil {
			return nil, err
		}
		engines = []engine.Engine{e}
	}
	engines = slices.SortedFunc(slices.Values(engines),
		func(a, b engine.Engine) int { return cmp.Compare(a.Name(), b.Name()) })
	mirrored := func(image string) string {
		if registry == "" {
			return ""
		}
		return engine.Mirrored(image, registry)
	}
	var out []imageSheet
	for _, e := range engines {
		for _, r := range e.Catalog().Releases {
			out = append(out, imageSheet{Engine: e.Name(), Version: r.Version, Source: r.Image, Target: mirrored(r.Image)})
		}
	}
	own := imageSheet{Source: command.HelperRepository + ":" + f.Build.Version}
	own.Target = mirrored(own.Source)
	if named := f.Getenv(command.EnvHelperImage); named != "" {
		own = imageSheet{Source: named}
		if registry != "" {
			own.Target = named
		}
	}
	return append(out, own), nil
}
