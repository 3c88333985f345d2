package cluster

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
)

// NewConfigure makes the command configure.
func NewConfigure(f *command.Factory) *cobra.Command {
	c := command.NewChange(f)
	c.Out = printer.NewTables(printer.FormatName, printer.FormatWide)
	var set, unset []string
	var way, redirect, image string
	var allowDowntime bool
	cmd := &cobra.Command{
		Use:   "configure [NAME]",
		Short: "Show or change the options of the database",
		Long: `Show or change the options of the database. Without --set and --unset it lists every option with its value, the
database's own default and what it may be; -o wide adds those that this tool manages, with the reason.

A change that is read only at start restarts the members one by one, followers first and the leader last after it
handed over; between two members the whole cluster must be healthy. If a member does not come up with the new options
the rest keep the old ones: 'kubectl dbop cancel' puts the former options back.`,
		Example: `  # List the options of my-db
  kubectl dbop configure my-db

  # Keep eight hours of history and take one option back to its default
  kubectl dbop configure my-db --set auto-compaction-retention=8h --unset snapshot-count

  # Lead clients straight to the primary, past the agents
  kubectl dbop configure my-db --routing direct

  # Give the members the agents of a newer version of this tool
  kubectl dbop configure my-db --helper-image ghcr.io/dbop-dev/kubectl-dbop:v0.2.0`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := optionChange(set, unset)
			if err != nil {
				return err
			}
			if way != "" {
				if change == nil {
					change = &v1alpha1.SettingsChange{}
				}
				if change.Routing, err = routing(way); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("redirect-to") {
				if change == nil {
					change = &v1alpha1.SettingsChange{}
				}
				change.RedirectTo = &redirect
			}
			if cmd.Flags().Changed("helper-image") {
				if image == "" {
					return exit.Misuse("--helper-image takes the name of an image")
				}
				if change == nil {
					change = &v1alpha1.SettingsChange{}
				}
				change.HelperImage = &image
			}
			t, in, err := c.Begin(cmd.Context(), v1alpha1.VerbConfigure, args)
			if err != nil {
				return err
			}
			if change == nil {
				return listOptions(cmd.Context(), f, c.Out, t, optionsWithin)
			}
			in.Request.Operation.Change = change
			in.Request.Operation.Waive = command.Waived(map[string]bool{"downtime": allowDowntime})
			in.Verbed, in.Next = "configured", command.DisplayName+" configure "+t.Cluster.Name
			return c.Run(cmd.Context(), in)
		},
	}
	c.AddTo(cmd, command.LongTimeout, false)
	cmd.Flags().StringArrayVar(&set, "set", nil, "Option as NAME=VALUE; may be repeated.")
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "Option that goes back to its default; may be repeated.")
	cmd.Flags().StringVar(&way, "routing", "", routingUsage)
	cmd.Flags().StringVar(&redirect, "redirect-to", "",
		"Cluster of the namespace that the services for clients lead to from now on; --redirect-to= takes that back.")
	cmd.Flags().StringVar(&image, "helper-image", "",
		"Image of this tool for helper pods, from which the agents beside members come too: they restart for it.")
	cmd.Flags().BoolVar(&allowDowntime, "allow-downtime", false,
		"Accept that a cluster of one or two members is down while one restarts.")
	return cmd
}

// optionChange reads --set and --unset; nil if neither is there.
func optionChange(set, unset []string) (*v1alpha1.SettingsChange, error) {
	if len(set) == 0 && len(unset) == 0 {
		return nil, nil
	}
	change := &v1alpha1.SettingsChange{Unset: unset}
	for _, text := range set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.Misuse("--set takes NAME=VALUE, not %q", text)
		}
		if slices.Contains(unset, name) {
			return nil, exit.Misuse("%s can't be both set and unset", name)
		}
		if change.Set == nil {
			change.Set = map[string]string{}
		}
		change.Set[name] = value
	}
	return change, nil
}
