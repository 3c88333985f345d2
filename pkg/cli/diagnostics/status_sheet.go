package diagnostics

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/printer"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// statusSheet is what status says, for machines and, printed, for people.
type statusSheet struct {
	Verdict            health.Verdict            `json:"verdict"`
	Namespace          string                    `json:"namespace"`
	Name               string                    `json:"name"`
	Engine             string                    `json:"engine"`
	Version            string                    `json:"version"`
	WantedMembers      int32                     `json:"wantedMembers"`
	Tolerates          int                       `json:"tolerates"`
	Members            []memberStatus            `json:"members"`
	LastBackup         *v1alpha1.BackupReference `json:"lastBackup,omitempty"`
	LastVerifiedBackup *v1alpha1.BackupReference `json:"lastVerifiedBackup,omitempty"`
	Schedule           *health.Schedule          `json:"schedule,omitempty"`
	// Source is the server outside of the cluster that it copies or follows.
	Source    *engine.Source   `json:"source,omitempty"`
	Operation *operationStatus `json:"operation,omitempty"`
	// LastError is the newest error of an operation since one succeeded.
	LastError *lastError `json:"lastError,omitempty"`
	// Holding says who works on the cluster.
	Holding *lease.Holding `json:"holding,omitempty"`
	Custom  *customStatus  `json:"custom,omitempty"`
	// Paused says that nobody acts on the cluster, and who asked for that.
	Paused bool            `json:"paused,omitempty"`
	Pause  *v1alpha1.Pause `json:"pause,omitempty"`
	// Drifted are the members whose template this program would render otherwise.
	Drifted []string `json:"drifted,omitempty"`
	// Unasked is the right that was missing to ask the members.
	Unasked string `json:"unasked,omitempty"`
}

// memberStatus is one row.
type memberStatus struct {
	engine.Member `json:",inline"`
	Node          string `json:"node,omitempty"`
	Restarts      int32  `json:"restarts"`
	// Lag is how much history the member lacks of the leader's; nil where that can't be counted.
	Lag *engine.Distance `json:"lag,omitempty"`
	lag string
	// VolumeBytes is the capacity of the member's volume.
	VolumeBytes int64  `json:"volumeBytes,omitempty"`
	Health      string `json:"health,omitempty"`
}

// operationStatus is the operation in flight.
type operationStatus struct {
	Name  string         `json:"name"`
	Verb  v1alpha1.Verb  `json:"verb"`
	Phase v1alpha1.Phase `json:"phase"`
	// Stopped: the process that performed it is gone.
	Stopped bool      `json:"stopped,omitempty"`
	By      string    `json:"by,omitempty"`
	From    string    `json:"from,omitempty"`
	Started time.Time `json:"started"`
	Step    string    `json:"step,omitempty"`
	Message string    `json:"message,omitempty"`
}

func newStatusSheet(e engine.Engine, s ops.State) statusSheet {
	c := s.Cluster
	out := statusSheet{Verdict: health.Assess(e, s, planner.Verbs()), Namespace: c.Namespace, Name: c.Name,
		Engine: c.Spec.Engine, Version: c.Spec.Version,
		WantedMembers: c.Spec.Members, Tolerates: e.Tolerates(s.View), LastBackup: c.Status.LastBackup,
		LastVerifiedBackup: c.Status.LastVerifiedBackup, Schedule: health.Scheduled(s), Source: s.View.Source,
		Paused: c.Spec.Paused, Pause: c.Status.Pause, Unasked: s.Unasked}
	leader, led := s.View.Leader()
	for _, name := range memberNames(s) {
		m := memberStatus{Member: s.View.Member(name)}
		facts := s.Kube.Member(name)
		m.Node, m.Restarts, m.VolumeBytes = facts.Pod.Node, facts.Pod.Restarts, facts.Volume.Capacity.Value()
		if err := e.Health(s.View, name); err != nil && s.Unasked == "" {
			m.Health = err.Error()
		}
		if led && m.Reachable {
			m.lag, m.Lag = lag(e, m.Position, leader.Position)
		}
		out.Members = append(out.Members, m)
	}
	if s.Holding != nil && s.Holding.Holder != "" {
		out.Holding = s.Holding
	}
	if s.Operation == nil {
		out.Drifted = rules.Drifted(s)
	}
	if op := s.Operation; op != nil {
		out.Operation = &operationStatus{Name: op.Name, Verb: op.Spec.Verb, Phase: op.Status.Phase, Stopped: s.Stopped(),
			By:   op.Spec.RequestedBy,
			From: op.Spec.RequestedFrom, Started: op.Status.StartedAt.Time, Step: lastStep(op), Message: op.Status.Message}
	}
	return out
}

// memberNames is everything that exists or is registered, each once.
func memberNames(s ops.State) []string {
	var names []string
	seen := map[string]bool{}
	note := func(name string) {
		if !seen[name] && name != "" {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, m := range s.Kube.Members {
		if m.Workload.Exists || m.Pod.Exists {
			note(m.Name)
		}
	}
	for _, r := range s.View.MemberList {
		note(r.Name)
	}
	for _, m := range s.View.Members {
		note(m.Name)
	}
	return names
}

// lag tells how a position compares with the leader's, in words and counted.
func lag(e engine.Engine, position, leader engine.Position) (string, *engine.Distance) {
	d, counted := e.Lag(engine.Gap{Leader: leader, Member: position})
	switch {
	case counted && d.Amount > 0 && d.Unit == "bytes":
		return printer.Size(d.Amount) + " behind", &d
	case counted && d.Amount > 0:
		return fmt.Sprintf("%d behind", d.Amount), &d
	}
	switch order, ok := e.Compare(position, leader); {
	case !ok:
		return printer.Unknown, nil
	case order < 0:
		return "behind", nil
	}
	if !counted {
		return "0", nil
	}
	return "0", &d
}

// lastStep is the newest line of the journal.
func lastStep(op *v1alpha1.Operation) string {
	if len(op.Status.Journal) == 0 {
		return ""
	}
	entry := op.Status.Journal[len(op.Status.Journal)-1]
	if entry.FinishedAt != nil && entry.Error == "" {
		return entry.Title + " (done)"
	}
	return entry.Title
}

// print writes the screen.
func (s statusSheet) print(w io.Writer, paint printer.Palette, now time.Time, out *printer.Output) error {
	fmt.Fprintf(w, "%s  %s\n", paint.Level(s.Verdict.Level),
		printer.OneLine(
			fmt.Sprintf("%s/%s %s in namespace %s: %s", s.Engine, s.Name, s.Version, s.Namespace, s.Verdict.Headline)))
	for _, p := range s.Verdict.Problems {
		fmt.Fprintf(w, "  %s %s\n", paint.Yellow("!"), printer.OneLine(p))
	}
	fmt.Fprintln(w)
	if len(s.Members) == 0 {
		fmt.Fprintln(w, "No members yet.")
	} else if err := s.table(out).Print(w, ""); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, line := range s.lines(now) {
		fmt.Fprintf(w, "%-23s %s\n", line[0], printer.OneLine(line[1]))
	}
	return nil
}

// lines are what is told below the table, each with its title.
func (s statusSheet) lines(now time.Time) [][2]string {
	out := [][2]string{{"Newest backup:", command.BackupText(s.LastBackup, now)},
		{"Newest verified backup:", command.BackupText(s.LastVerifiedBackup, now)}}
	add := func(title, format string, args ...any) {
		out = append(out, [2]string{title, fmt.Sprintf(format, args...)})
	}
	if s.Schedule != nil {
		add("Scheduled backups:", "%s; next: %s", s.Schedule.State(), command.NextText(s.Schedule, now))
	}
	if s.Source != nil {
		add("Source:", "%s", s.Source.Text())
	}
	if s.Source != nil && len(s.Source.Users) > 0 {
		add("", "its users don't come along: %s", strings.Join(s.Source.Users, ", "))
	}
	add("Operation in flight:", "%s", s.Operation.text(now))
	if o := s.Operation; o != nil && o.Step != "" {
		add("", "step: %s", o.Step)
	}
	if o := s.Operation; o != nil && o.Message != "" {
		add("", "%s", o.Message)
	}
	if e := s.LastError; e != nil {
		add("Last error:", "%s ago, %s (%s): %s", printer.Age(now, e.Time), e.Verb, e.Operation, e.Message)
	}
	if h := s.Holding; h != nil {
		add("Held by:", "%s for %s", h.Holder, printer.Age(now, h.Since))
	}
	if s.Paused {
		add("Paused:", "%s; nobody acts on it until kubectl dbop resume %s", pauseText(s.Pause, now), s.Name)
	}
	if len(s.Drifted) > 0 {
		add("Rendered otherwise:", "%s; kubectl dbop restart %s renders them as this version does",
			strings.Join(s.Drifted, ", "), s.Name)
	}
	if s.Custom != nil {
		add("Custom resource:", "%s", s.Custom.text())
	}
	for i, n := range s.Verdict.Next {
		title := "Next:"
		if i > 0 {
			title = ""
		}
		add(title, "%s", n)
	}
	return out
}

// pauseText says who paused a cluster, and how long ago.
func pauseText(p *v1alpha1.Pause, now time.Time) string {
	if p == nil {
		return "by an edit"
	}
	return fmt.Sprintf("by %s@%s, %s ago", printer.OrUnknown(p.By), printer.OrUnknown(p.From),
		printer.Age(now, p.At.Time))
}

func (s statusSheet) table(out *printer.Output) *printer.Table {
	var readings printer.Readings
	for _, m := range s.Members {
		readings.Add(m.Readings)
	}
	columns := []string{"MEMBER", "ROLE", "VERSION", "LAG", "DB-SIZE"}
	limited := len(readings) == 0 || slices.ContainsFunc(s.Members, func(m memberStatus) bool { return m.QuotaBytes > 0 })
	if limited {
		columns = append(columns, "OF-QUOTA")
	}
	columns = append(slices.Concat(columns, readings.Columns()), "NODE")
	if out.Wide() {
		columns = append(columns, "RESTARTS", "ID", "CLUSTER-ID", "PROTOCOL", "POSITION")
	}
	t := out.NewTable(columns...)
	for _, m := range s.Members {
		role, version, behind, db, quota := string(m.Role), m.Version, m.lag, "", ""
		if !m.Reachable {
			role, version, behind, db, quota = "unreachable", "-", "-", "-", "-"
			if s.Unasked != "" {
				role = printer.Unknown
			}
		} else if m.DataBytes > 0 {
			db = printer.Size(m.DataBytes)
			quota = share(m.DataBytes, m.QuotaBytes)
		}
		row := []string{m.Name, role, version, behind, db}
		if limited {
			row = append(row, quota)
		}
		row = append(slices.Concat(row, readings.Row(m.Readings)), m.Node)
		if out.Wide() {
			row = append(row, strconv.Itoa(int(m.Restarts)), m.ID, m.ClusterID, m.Protocol, string(m.Position))
		}
		t.Row(row...)
	}
	return t
}

// share is how much of its quota a database takes; "" without a quota.
func share(used, quota int64) string {
	if quota <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%%", 100*used/quota)
}

func (o *operationStatus) text(now time.Time) string {
	if o == nil {
		return "none"
	}
	phase := string(o.Phase)
	if o.Stopped {
		phase = command.PhaseStopped
	}
	return fmt.Sprintf("%s (%s), %s, started %s ago by %s@%s", o.Verb, o.Name, phase, printer.Age(now, o.Started),
		printer.OrUnknown(o.By), printer.OrUnknown(o.From))
}
