package engines

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// NewAlarms makes the command alarms.
func NewAlarms(f *command.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alarms COMMAND",
		Short: "List and clear the alarms of the database",
		Long: `List and clear the alarms that a database raises against its members and that stay until they are taken back:
of etcd NOSPACE and CORRUPT, under which it takes no writes.`,
		Example: `  # Remove what caused the alarms of my-db, then take them back
  kubectl dbop alarms clear my-db`,
		Args: cobra.ArbitraryArgs,
		RunE: command.ParentOnly,
	}
	cmd.AddCommand(newAlarmsList(f))
	cmd.AddCommand(newAlarmsClear(f))
	return cmd
}

func newAlarmsClear(f *command.Factory) *cobra.Command {
	var keep int64
	s := command.Simple{
		Verb: v1alpha1.VerbClearAlarms, Verbed: "has no alarms", Downtime: true, Longer: true,
		Use: "clear [NAME]", Short: "Remove what caused the alarms, then take them back",
		Long: `Remove what caused the alarms, and clear them. Then every member takes a write that changes nothing for
clients.

Out of space (NOSPACE): history is dropped up to a little before the present, as 'kubectl dbop compact' does.
Every member that is nearly full is defragmented, one at a time, the leader last after it handed over. If too
much data is left the alarm stays, and the error says what to do. Where there is room already, the alarm is
only cleared.

Damage (CORRUPT): the data of all members is compared first. A member that differs from the majority is
named, and 'kubectl dbop member replace' gives it a new copy. The alarm is cleared only when all have the
same data.`,
		Example: `  # Make room in my-db and let it take writes again
  kubectl dbop alarms clear my-db

  # Keep no history at all
  kubectl dbop alarms clear my-db --keep-revisions 0`,
		Fill: func(o *v1alpha1.OperationSpec) error {
			if keep < 0 {
				return exit.Misuse("--keep-revisions must be 0 or more")
			}
			o.Compaction = &v1alpha1.Compaction{Keep: keep}
			return nil
		}}
	cmd := command.NewSimple(f, s)
	cmd.Flags().Int64Var(&keep, "keep-revisions", keptRevisions,
		"How many revisions before the present one stay, if history has to go.")
	return cmd
}

// alarmSheet is what list says, for machines.
type alarmSheet struct {
	Namespace         string `json:"namespace"`
	Name              string `json:"name"`
	Engine            string `json:"engine"`
	health.AlarmSheet `json:",inline"`
}

func newAlarmsList(f *command.Factory) *cobra.Command {
	out := printer.NewTables()
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "list [NAME]",
		Short: "List the alarms of the database, and the space of its members",
		Long: `List the alarms that stand, member by member, and how much data each member has and may have. Alarms that stand
against a member that is no more are listed too: they count as much as the others. Nothing is changed.

Exit codes: 0 no alarm, 10 alarms, 11 no member answers.`,
		Example: `  # List the alarms of my-db
  kubectl dbop alarms list my-db`,
		Args:              command.Arguments(0, 1, "NAME"),
		ValidArgsFunction: command.CompleteClusters(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAlarmsList(cmd.Context(), f, out, args, timeout)
		},
	}
	out.AddTo(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "Timeout of the check, such as 10s.")
	return cmd
}

func runAlarmsList(ctx context.Context, f *command.Factory, out *printer.Output, args []string,
	timeout time.Duration) error {
	t, err := f.Target(ctx, args)
	if err != nil {
		return err
	}
	s, err := f.ObserveOnce(ctx, t, timeout, command.Everything)
	if err != nil {
		return err
	}
	found, err := health.Alarms(t.Engine, s)
	if err != nil {
		return err
	}
	sheet := alarmSheet{Namespace: t.Namespace, Name: t.Cluster.Name, Engine: t.Engine.Name(), AlarmSheet: found}
	if err := sheet.show(f, out); err != nil {
		return err
	}
	return exit.Verdict(found.Level)
}

func (s alarmSheet) show(f *command.Factory, out *printer.Output) error {
	if !out.Human() {
		return out.Print(f.Results(), "ClusterAlarms", s)
	}
	rows := out.NewTable("MEMBER", "ALARMS", "DB-SIZE", "IN-USE", "QUOTA")
	for _, m := range s.Members {
		if !m.Reachable {
			rows.Row(m.Member, printer.Unknown, printer.Unknown, printer.Unknown, printer.Unknown)
			continue
		}
		rows.Row(m.Member, strings.Join(m.Alarms, ","), printer.Size(m.DataBytes), printer.Size(m.UsedBytes),
			printer.Size(m.QuotaBytes))
	}
	if err := rows.Print(f.Streams.Out, ""); err != nil {
		return err
	}
	for _, a := range s.Alarms {
		text := fmt.Sprintf("%s of %s", a.Name, a.Whose)
		if a.Meaning != "" {
			text += ": " + a.Meaning
		}
		f.Note("%s", text)
	}
	if len(s.Alarms) > 0 {
		f.Note("next: %s alarms clear %s", command.DisplayName, s.Name)
	}
	return nil
}
