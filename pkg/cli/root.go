package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// displayName is how people call this program, and completer how kubectl does
// when it wants suggestions.
const (
	displayName = "kubectl dbop"
	completer   = "kubectl_complete-dbop"
)

// helperRepository is where releases publish the image of this tool.
const helperRepository = "ghcr.io/dbop-dev/kubectl-dbop"

// The environment variables that stand in for flags.
const (
	envRegistry    = "DBOP_REGISTRY"
	envHelperImage = "DBOP_HELPER_IMAGE"
	envRepository  = "DBOP_REPOSITORY"
)

// Build says which build this is.
type Build struct {
	Version, Commit, Date string
}

// Config is all that the command line takes from the outside.
type Config struct {
	// Program is argv[0], Args what follows it.
	Program string
	Args    []string
	Build   Build
	Engines []engine.Engine
	Streams Streams
	// Signals end a command: the first gently, the second at once.
	Signals <-chan os.Signal
	// Operate is the operator; nil for none.
	Operate func(context.Context, OperatorConfig) error
	Getenv  func(string) string
	Now     func() time.Time
	// Clients reach everything else; those for a real cluster if not set.
	Clients Clients
	// Random makes tokens and identifiers; that of the system if not set.
	Random io.Reader
}

// Run executes one command line and returns its exit code.
func Run(ctx context.Context, c Config) int { return run(ctx, newFactory(c)) }

func run(ctx context.Context, f *Factory) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.cancel = cancel
	if f.Signals != nil {
		go f.watch(ctx, f.Signals)
	}
	root := newRoot(f)
	args := f.Args
	if strings.TrimSuffix(filepath.Base(f.Program), ".exe") == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		printError(f.Streams.Err, f.errPalette(), cmd, err)
	}
	return exitCode(ctx, err)
}

// The groups of commands in help.
const (
	groupClusters    = "clusters"
	groupMembers     = "members"
	groupBackup      = "backup"
	groupDiagnostics = "diagnostics"
	groupOther       = "other"
)

// newRoot builds the whole tree; it dials, reads and decides nothing.
func newRoot(f *Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "dbop",
		Short: "Operate database clusters on Kubernetes",
		Long: `Operate database clusters on Kubernetes: create, grow, back up, restore, upgrade.

Nothing has to be installed in the cluster. Every change is planned first: 'kubectl dbop plan VERB ...'
shows the steps, which pods restart, who leads afterwards and what can't be undone.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 unchanged (only with --error-unchanged), 4 refused by a safety
check, 5 somebody else is at work, 6 not found, 7 forbidden, 8 Kubernetes not reached, 9 a person is needed,
10 degraded, 11 down, 124 timed out, 130 interrupted.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: displayName},
		Args:          cobra.ArbitraryArgs,
		RunE:          parentOnly,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			f.asked = commandLine(cmd, args)
			if err := oneOf("color", f.color, colorAuto, colorAlways, colorNever); err != nil {
				return err
			}
			return f.verbose()
		},
	}
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{text: plainFlagError(err)} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(),
		"Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"Use \""+displayName+" --help\" for the flags that all commands have, such as --namespace and --context.", 1))
	f.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&f.color, "color", colorAuto, "When to use colors: auto, always or never. auto honors NO_COLOR and TERM=dumb.")
	root.PersistentFlags().IntVarP(&f.verbosity, "v", "v", 0, "Log level of requests to the API server, as in kubectl: "+
		"6 for each request, 7 with headers. Higher levels count as 7, because bodies hold secrets.")
	root.AddGroup(
		&cobra.Group{ID: groupClusters, Title: "Clusters:"},
		&cobra.Group{ID: groupMembers, Title: "Members:"},
		&cobra.Group{ID: groupBackup, Title: "Backup and restore:"},
		&cobra.Group{ID: groupDiagnostics, Title: "Diagnostics:"},
		&cobra.Group{ID: groupOther, Title: "Other:"},
	)
	root.SetHelpCommandGroupID(groupOther)
	add(root, groupClusters, newCreate(f, perform), newList(f), newStatus(f), newConnect(f), newUpgrade(f, perform),
		newDowngrade(f, perform), newConfigure(f, perform), newResize(f, perform), newRestart(f, perform),
		newRepair(f, perform), newStop(f, perform), newStart(f, perform), newPause(f), newDefrag(f, perform),
		newCompact(f, perform), newAlarms(f, perform), newAuth(f, perform), newUser(f, perform),
		newCredentials(f, perform), newCertificates(f, perform), newDelete(f, perform))
	add(root, groupMembers, newAddMember(f, perform), newRemoveMember(f, perform), newReplaceMember(f, perform),
		newScale(f, perform), newSwitchover(f, perform))
	add(root, groupBackup, newBackup(f, perform), newRestore(f, perform), newRecover(f, perform))
	add(root, groupDiagnostics, newDiagnose(f), newInspect(f), newCheck(f), newPlan(f), newResume(f), newCancel(f),
		newUndo(f, perform), newHistory(f), newLogs(f), newSupportBundle(f))
	add(root, groupOther, newEngines(f), newImages(f), newVersion(f), newCompletion(f), newOperator(f), newHelper(f),
		newReference(f))
	completeGlobals(f, root)
	completeShared(f, root)
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
				return misuse("%s", err)
			}
			about.InitDefaultHelpFlag()
			return parentOnly(about, rest)
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
