package cli

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// simple describes a changing command that takes a cluster's name and little else.
type simple struct {
	verb             v1alpha1.Verb
	use, short, long string
	example          string
	verbed           string
	ask              func(*planner.Prepared) (question, error)
	downtime, longer bool
	target           string
	targetUsage      string
	// fill completes the record from flags of the command's own.
	fill func(*v1alpha1.OperationSpec) error
}

// newSimple builds the command that a description asks for.
func newSimple(f *Factory, m mode, s simple) *cobra.Command {
	c := newChange(f, m)
	var member string
	var allowDowntime bool
	cmd := &cobra.Command{
		Use: s.use, Short: s.short, Long: s.long, Example: s.example,
		Args:              arguments(0, 1, "NAME"),
		ValidArgsFunction: completeClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.begin(cmd.Context(), s.verb, args)
			if err != nil {
				return err
			}
			spec := &in.request.Operation
			spec.Member = member
			if s.fill != nil {
				if err := s.fill(spec); err != nil {
					return err
				}
			}
			spec.Waive = waived(map[string]bool{"downtime": allowDowntime})
			in.verbed, in.ask = s.verbed, s.ask
			return c.run(cmd.Context(), in)
		},
	}
	timeout := shortTimeout
	if s.longer {
		timeout = longTimeout
	}
	c.addTo(cmd, timeout, s.ask != nil)
	if s.target != "" {
		cmd.Flags().StringVar(&member, s.target, "", s.targetUsage)
		_ = cmd.RegisterFlagCompletionFunc(s.target, completeMemberFlag(f))
	}
	if s.downtime {
		cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false, "Accept that a cluster of one member is down while it restarts.")
	}
	return cmd
}
