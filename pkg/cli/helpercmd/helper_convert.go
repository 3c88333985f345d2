package helpercmd

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
)

// standbyFor is how long a pod waits for its work. Where the operation does not go on, a member that moves to another
// node would not get its volume for as long.
const standbyFor = 10 * time.Minute

// inPlaceFlags name data on the volume of a member.
type inPlaceFlags struct{ engine, directory, operation string }

func (o *inPlaceFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.engine, "engine", "", "Engine of the data.")
	cmd.Flags().StringVar(&o.directory, "dir", "", "Data directory.")
	cmd.Flags().StringVar(&o.operation, "operation", "", "Identifier of the operation, by which a repeat is known.")
}

func (o *inPlaceFlags) converter(f *command.Factory) (engine.InPlaceConverter, error) {
	if o.engine == "" || o.directory == "" {
		return nil, exit.Misuse("--engine and --dir are required")
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
	var programs, report string
	var standby helper.Standby
	cmd := &cobra.Command{
		Use:   "convert --engine ENGINE --dir DIR --operation ID|--listen ADDRESS --programs DIR",
		Short: "Convert the data on the volume of a stopped member",
		Long: "Convert the data on the volume of a stopped member to the version of the image that this runs in. With " +
			"--listen it waits until it is told for which operation, and touches nothing before.",
		Example: `  # Convert data of PostgreSQL
  kubectl dbop helper convert --engine postgres --dir /var/lib/postgresql/member/data --operation i --programs /former`,
		Args: command.Arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			c, err := o.converter(f)
			if err != nil {
				return err
			}
			if (o.operation == "") == (standby.Listen == "") {
				return exit.Misuse("one of --operation and --listen is required")
			}
			scratch, err := os.MkdirTemp("", "convert")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
			work := func(ctx context.Context, operation string) error {
				return c.ConvertInPlace(ctx, o.directory, operation, engine.Conversion{Programs: programs, Scratch: scratch})
			}
			if standby.Listen == "" {
				return work(cmd.Context(), o.operation)
			}
			err = standby.Run(cmd.Context(), work)
			if errors.Is(err, helper.ErrNotAsked) && report != "" {
				return os.WriteFile(report, []byte(helper.NotAsked), 0o600)
			}
			return err
		},
	}
	o.addTo(cmd)
	cmd.Flags().StringVar(&programs, "programs", "", "Directory with the programs of the data's version.")
	cmd.Flags().StringVar(&standby.Listen, "listen", "", "Loopback address with port where it is told to begin.")
	cmd.Flags().DurationVar(&standby.Within, "within", standbyFor, "How long to wait for that.")
	cmd.Flags().StringVar(&report, "report", "", "File that takes the report, where nobody told it in time.")
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
			if err == nil && o.operation == "" {
				err = exit.Misuse("--operation is required")
			}
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
