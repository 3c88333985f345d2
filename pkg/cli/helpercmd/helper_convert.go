package helpercmd

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// inPlaceFlags name data on the volume of a member.
type inPlaceFlags struct{ engine, directory, operation string }

func (o *inPlaceFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.engine, "engine", "", "Engine of the data.")
	cmd.Flags().StringVar(&o.directory, "dir", "", "Data directory.")
	cmd.Flags().StringVar(&o.operation, "operation", "", "Identifier of the operation, by which a repeat is known.")
}

func (o *inPlaceFlags) converter(f *command.Factory) (engine.InPlaceConverter, error) {
	if o.engine == "" || o.directory == "" || o.operation == "" {
		return nil, exit.Misuse("--engine, --dir and --operation are required")
	}
	e, err := f.EngineNamed(o.engine)
	if err != nil {
		return nil, err
	}
	c, ok := e.(engine.InPlaceConverter)
	if !ok {
		return nil, exit.Misuse("data of %s is not converted in place", e.Name())
	}
	return c, nil
}

func newHelperConvert(f *command.Factory) *cobra.Command {
	var o inPlaceFlags
	var programs string
	cmd := &cobra.Command{
		Use:   "convert --engine ENGINE --dir DIR --operation ID --programs DIR",
		Short: "Convert the data on the volume of a stopped member",
		Long:  "Convert the data on the volume of a stopped member to the version of the image that this runs in.",
		Example: `  # Convert data of PostgreSQL
  kubectl dbop helper convert --engine postgres --dir /var/lib/postgresql/member/data --operation i --programs /former`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := o.converter(f)
			if err != nil {
				return err
			}
			scratch, err := os.MkdirTemp("", "convert")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
			return c.ConvertInPlace(cmd.Context(), o.directory, o.operation,
				engine.Conversion{Programs: programs, Scratch: scratch})
		},
	}
	o.addTo(cmd)
	cmd.Flags().StringVar(&programs, "programs", "", "Directory with the programs of the data's version.")
	return cmd
}

func newHelperRevert(f *command.Factory) *cobra.Command {
	var o inPlaceFlags
	var report string
	cmd := &cobra.Command{
		Use:   "revert --engine ENGINE --dir DIR --operation ID --report FILE",
		Short: "Take back what was converted on the volume of a stopped member",
		Long: "Take back what was converted on the volume of a stopped member, unless the later version was started " +
			"on it. The report says which.",
		Example: `  # Take back a conversion
  kubectl dbop helper revert --engine postgres --dir /var/lib/postgresql/member/data --operation i1 --report report`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			c, err := o.converter(f)
			if err != nil {
				return err
			}
			stage := v1alpha1.InPlaceReverted
			switch back, err := c.RevertInPlace(o.directory, o.operation); {
			case err != nil:
				return err
			case !back:
				stage = v1alpha1.InPlaceFinal
			}
			return os.WriteFile(report, []byte(stage), 0o600)
		},
	}
	o.addTo(cmd)
	cmd.Flags().StringVar(&report, "report", "", "File that takes the report.")
	return cmd
}
