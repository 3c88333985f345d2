package helpercmd

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func newHelperPrograms(f *command.Factory) *cobra.Command {
	var name, version, to string
	cmd := &cobra.Command{
		Use:   "programs --engine ENGINE --version VERSION --to DIR",
		Short: "Copy the programs that convert data of a version",
		Long: "Copy the programs that convert data of a version, and the libraries that they need, out of the image " +
			"that this runs in.",
		Example: `  # Copy the programs of PostgreSQL 15
  kubectl dbop helper programs --engine postgres --version 15.20 --to /former`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if name == "" || version == "" || to == "" {
				return exit.Misuse("--engine, --version and --to are required")
			}
			e, err := f.EngineNamed(name)
			if err != nil {
				return err
			}
			c, err := converter(e)
			if err != nil {
				return err
			}
			return c.CopyPrograms(version, to)
		},
	}
	cmd.Flags().StringVar(&name, "engine", "", "Engine of the data.")
	cmd.Flags().StringVar(&version, "version", "", "Version of the data.")
	cmd.Flags().StringVar(&to, "to", "", "Directory that gets the programs.")
	return cmd
}

func converter(e engine.Engine) (engine.Converter, error) {
	c, ok := e.(engine.Converter)
	if !ok {
		return nil, exit.Misuse("data of %s is not converted", e.Name())
	}
	return c, nil
}

// convert makes data of an older version into data of the version of this image.
func convert(cmd *cobra.Command, e engine.Engine, directory, programs string) (err error) {
	c, err := converter(e)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "convert")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	return c.Convert(cmd.Context(), directory, engine.Conversion{Programs: programs, Scratch: scratch})
}
