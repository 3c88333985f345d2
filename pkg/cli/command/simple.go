package command

import (
	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// Simple describes a changing command that takes a cluster's name and little else.
type Simple struct {
	Verb             v1alpha1.Verb
	Use, Short, Long string
	Example          string
	Verbed           string
	Ask              func(*planner.Prepared) (Question, error)
	Downtime, Longer bool
	Target           string
	TargetUsage      string
	// Fill completes the record from flags of the command's own.
	Fill func(*v1alpha1.OperationSpec) error
}

// NewSimple builds the command that a description asks for.
func NewSimple(f *Factory, s Simple) *cobra.Command {
	c := NewChange(f)
	var member string
	var allowDowntime bool
	cmd := &cobra.Command{
		Use: s.Use, Short: s.Short, Long: s.Long, Example: s.Example,
		Args:              Arguments(0, 1, "NAME"),
		ValidArgsFunction: CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := c.Begin(cmd.Context(), s.Verb, args)
			if err != nil {
				return err
			}
			spec := &in.Request.Operation
			spec.Member = member
			if s.Fill != nil {
				if err := s.Fill(spec); err != nil {
					return err
				}
			}
			spec.Waive = Waived(map[string]bool{"downtime": allowDowntime})
			in.Verbed, in.Ask = s.Verbed, s.Ask
			return c.Run(cmd.Context(), in)
		},
	}
	timeout := ShortTimeout
	if s.Longer {
		timeout = LongTimeout
	}
	c.AddTo(cmd, timeout, s.Ask != nil)
	if s.Target != "" {
		cmd.Flags().StringVar(&member, s.Target, "", s.TargetUsage)
		_ = cmd.RegisterFlagCompletionFunc(s.Target, CompleteMemberFlag(f))
	}
	if s.Downtime {
		cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false,
			"Accept that a cluster of one member is down while it restarts.")
	}
	return cmd
}
