package cli

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/access"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/backup"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/cluster"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/diagnostics"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/docs"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/engines"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/helpercmd"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/operatorcmd"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/repositories"
)

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, c command.Config) int { return run(ctx, command.NewFactory(c)) }

func run(ctx context.Context, f *command.Factory) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.Cancel = cancel
	if f.Signals != nil {
		go f.Watch(ctx, f.Signals)
	}
	root := NewRoot(f)
	args := f.Args
	if strings.TrimSuffix(filepath.Base(f.Program), ".exe") == command.Completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		printError(f.Streams.Err, f.ErrPalette(), cmd, err)
	}
	return exit.Code(ctx, err)
}

// The groups of help that are named elsewhere: plan wraps the commands of all
// groups, and help itself belongs to the last.
const (
	groupOperations = "Operations"
	groupOther      = "Other"
)

// group is a heading of help and the commands below it.
type group struct {
	title    string
	commands []*cobra.Command
}

// commandGroups are the commands that people see, in the order of help.
func commandGroups(f *command.Factory) []group {
	groups := []group{
		{"Clusters", []*cobra.Command{
			cluster.NewCreate(f), diagnostics.NewList(f), diagnostics.NewStatus(f), cluster.NewConnect(f),
			cluster.NewUpgrade(f),
			cluster.NewDowngrade(f), cluster.NewConfigure(f), cluster.NewResize(f), cluster.NewRestart(f),
			cluster.NewRepair(f), cluster.NewStop(f), cluster.NewStart(f), cluster.NewDelete(f)}},
		{"Members", []*cobra.Command{
			cluster.NewAddMember(f, "add-member"), cluster.NewMember(f), cluster.NewScale(f), cluster.NewSwitchover(f),
			cluster.NewFailover(f), cluster.NewHold(f), cluster.NewCutover(f),
			cluster.NewFollow(f)}},
		{groupOperations, []*cobra.Command{
			operation.NewResume(f), operation.NewCancel(f), operation.NewUndo(f), operation.NewPause(f),
			operation.NewHistory(f)}},
		{"Backup and restore", []*cobra.Command{backup.NewBackup(f), backup.NewRestore(f), backup.NewRecover(f),
			cluster.NewDropVolumes(f), repositories.NewRepository(f)}},
		{"Users and certificates", []*cobra.Command{access.NewUser(f), access.NewCertificates(f)}},
		{"Diagnostics", []*cobra.Command{
			diagnostics.NewDiagnose(f), diagnostics.NewInspect(f), diagnostics.NewCheck(f), diagnostics.NewLogs(f),
			diagnostics.NewSupportBundle(f)}},
	}
	if names, special := engines.Special(f); len(special) > 0 {
		groups = append(groups, group{"Only for " + names, special})
	}
	return append(groups, group{groupOther, []*cobra.Command{
		engines.NewEngines(f), operatorcmd.NewOperator(f), diagnostics.NewVersion(f), newCompletion(f)}})
}

// NewRoot builds the whole tree; it dials, reads and decides nothing.
func NewRoot(f *command.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "dbop",
		Short: "Operate database clusters on Kubernetes",
		Long: `Operate database clusters on Kubernetes: create, grow, back up, restore, upgrade.

Nothing has to be installed in the cluster. Every change is planned first: 'kubectl dbop plan VERB ...'
shows the steps, which pods restart, who leads afterwards and what can't be undone.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 unchanged (only with --error-unchanged), 4 refused by a safety
check, 5 somebody else is at work, 6 not found, 7 forbidden, 8 Kubernetes not reached, 9 a person is needed,
10 degraded, 11 down, 124 timed out, 130 interrupted.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: command.DisplayName},
		Args:          cobra.ArbitraryArgs,
		RunE:          command.ParentOnly,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			f.Asked = command.Line(cmd, args)
			if err := command.OneOf("color", f.Color, printer.ColorAuto, printer.ColorAlways,
				printer.ColorNever); err != nil {
				return err
			}
			return f.Verbose()
		},
	}
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.Err)
	root.SetFlagErrorFunc(
		func(_ *cobra.Command, err error) error { return &exit.UsageError{Text: exit.PlainFlagError(err)} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"Use \""+command.DisplayName+" --help\" for the flags that all commands have, such as --namespace and "+
			"--context.", 1))
	f.Flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&f.Color, "color", printer.ColorAuto,
		"When to use colors: auto, always or never. auto honors NO_COLOR and TERM=dumb.")
	root.PersistentFlags().IntVarP(&f.Verbosity, "v", "v", 0, "Log level of requests to the API server, as in kubectl: "+
		"6 for each request, 7 with headers. Higher levels count as 7, because bodies hold secrets.")
	for _, g := range commandGroups(f) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	root.AddCommand(helpercmd.NewHelper(f), docs.NewReference(f))
	root.SetHelpCommandGroupID(groupOther)
	command.CompleteGlobals(f, root)
	command.CompleteShared(f, root)
	plan := newPlan(f, root)
	plan.GroupID = groupOperations
	root.AddCommand(plan)
	strictHelp(root)
	return root
}

// strictHelp has help of an unknown command end as that command would.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil {
				return exit.Misuse("%s", err)
			}
			about.InitDefaultHelpFlag()
			return command.ParentOnly(about, rest)
		}
	}
}
