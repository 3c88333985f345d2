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

// The groups of commands in help.
const (
	groupClusters    = "clusters"
	groupMembers     = "members"
	groupBackup      = "backup"
	groupDiagnostics = "diagnostics"
	groupOther       = "other"
)

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
			f.Asked = command.CommandLine(cmd, args)
			if err := command.OneOf("color", f.Color, printer.ColorAuto, printer.ColorAlways, printer.ColorNever); err != nil {
				return err
			}
			return f.Verbose()
		},
	}
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &exit.UsageError{Text: exit.PlainFlagError(err)} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"Use \""+command.DisplayName+" --help\" for the flags that all commands have, such as --namespace and --context.", 1))
	f.Flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&f.Color, "color", printer.ColorAuto, "When to use colors: auto, always or never. auto honors NO_COLOR and TERM=dumb.")
	root.PersistentFlags().IntVarP(&f.Verbosity, "v", "v", 0, "Log level of requests to the API server, as in kubectl: "+
		"6 for each request, 7 with headers. Higher levels count as 7, because bodies hold secrets.")
	root.AddGroup(
		&cobra.Group{ID: groupClusters, Title: "Clusters:"},
		&cobra.Group{ID: groupMembers, Title: "Members:"},
		&cobra.Group{ID: groupBackup, Title: "Backup and restore:"},
		&cobra.Group{ID: groupDiagnostics, Title: "Diagnostics:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	add(root, groupClusters, cluster.NewCreate(f, command.Perform), diagnostics.NewList(f), diagnostics.NewStatus(f), cluster.NewConnect(f), cluster.NewUpgrade(f, command.Perform),
		cluster.NewDowngrade(f, command.Perform), cluster.NewConfigure(f, command.Perform), cluster.NewResize(f, command.Perform), cluster.NewRestart(f, command.Perform),
		cluster.NewRepair(f, command.Perform), cluster.NewStop(f, command.Perform), cluster.NewStart(f, command.Perform), operation.NewPause(f), engines.NewDefrag(f, command.Perform),
		engines.NewCompact(f, command.Perform), engines.NewAlarms(f, command.Perform), access.NewAuth(f, command.Perform), access.NewUser(f, command.Perform),
		access.NewCredentials(f, command.Perform), access.NewCertificates(f, command.Perform), cluster.NewDelete(f, command.Perform))
	add(root, groupMembers, cluster.NewAddMember(f, command.Perform), cluster.NewRemoveMember(f, command.Perform), cluster.NewReplaceMember(f, command.Perform),
		cluster.NewScale(f, command.Perform), cluster.NewSwitchover(f, command.Perform))
	add(root, groupBackup, backup.NewBackup(f, command.Perform), backup.NewRestore(f, command.Perform), backup.NewRecover(f, command.Perform))
	add(root, groupDiagnostics, diagnostics.NewDiagnose(f), diagnostics.NewInspect(f), diagnostics.NewCheck(f), newPlan(f), operation.NewResume(f), operation.NewCancel(f),
		operation.NewUndo(f, command.Perform), operation.NewHistory(f), diagnostics.NewLogs(f), diagnostics.NewSupportBundle(f))
	add(root, groupOther, engines.NewEngines(f), engines.NewImages(f), diagnostics.NewVersion(f), newCompletion(f), operatorcmd.NewOperator(f), helpercmd.NewHelper(f),
		docs.NewReference(f))
	command.CompleteGlobals(f, root)
	command.CompleteShared(f, root)
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

func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		if !c.Hidden {
			c.GroupID = group
		}
		root.AddCommand(c)
	}
}
