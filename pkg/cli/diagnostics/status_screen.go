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
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

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
	if s.Restorable != nil {
		age := func(t time.Time) string { return printer.Age(now, t) }
		add("Restorable until:", "%s", s.Restorable.Text(age))
	}
	if s.Archive != nil {
		add("Archived log:", "%s", s.Archive.text())
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
	if s.Source != nil && len(s.Source.Left) > 0 {
		add("", "not coming along: %s", strings.Join(s.Source.Left, ", "))
	}
	title := "Warnings:"
	for _, m := range s.Members {
		if w := health.Override(m.Member); w != "" {
			add(title, "%s: %s; kubectl dbop repair %s takes it back", m.Name, w, s.Name)
			title = ""
		}
		for _, w := range m.Warnings {
			add(title, "%s: %s", m.Name, w)
			title = ""
		}
	}
	inFlight := func(title string, o *operationStatus) {
		add(title, "%s", o.text(now))
		if o != nil && o.Step != "" {
			add("", "step: %s", o.Step)
		}
		if o != nil && o.Message != "" {
			add("", "%s", o.Message)
		}
	}
	inFlight("Operation in flight:", s.Operation)
	if s.Backup != nil {
		inFlight("Beside it:", s.Backup)
	}
	if e := s.LastError; e != nil {
		add("Last error:", "%s ago, %s (%s): %s", printer.Age(now, e.Time), e.Verb, e.Operation, e.Message)
	}
	if h := s.Holding; h != nil {
		add("Held by:", "%s for %s", h.Holder, printer.Age(now, h.Since))
	}
	if s.Hold != nil {
		add("No other leader:", "%s; kubectl dbop hold %s --end ends that", s.Hold.Text(), s.Name)
	}
	if s.Paused {
		add("Paused:", "%s; nobody acts on it until kubectl dbop resume %s", pauseText(s.Pause, now), s.Name)
	}
	for i, line := range s.otherAgents() {
		title := "Agents:"
		if i > 0 {
			title = ""
		}
		add(title, "%s", line)
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

// otherAgents tells which members run agents of which image, where one runs another than is wanted.
func (s statusSheet) otherAgents() []string {
	var images, out []string
	names := map[string][]string{}
	for _, m := range s.Members {
		if m.AgentImage == "" {
			continue
		}
		if names[m.AgentImage] == nil {
			images = append(images, m.AgentImage)
		}
		names[m.AgentImage] = append(names[m.AgentImage], m.Name)
	}
	if s.AgentImage == "" || len(images) == 0 || len(images) == 1 && images[0] == s.AgentImage {
		return nil
	}
	for _, image := range images {
		line := fmt.Sprintf("%s: %s", strings.Join(names[image], ", "), image)
		if image != s.AgentImage && s.Operation == nil {
			line += "; wanted is " + s.AgentImage
		}
		out = append(out, line)
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
	var readings, details printer.Readings
	for _, m := range s.Members {
		readings.Add(m.Readings)
		details.Add(m.Details)
	}
	columns := []string{"MEMBER", "ROLE", "VERSION", "LAG", "DB-SIZE"}
	measured := slices.ContainsFunc(s.Members, func(m memberStatus) bool { return m.Disk.Total > 0 })
	limited := len(readings) == 0 && !measured ||
		slices.ContainsFunc(s.Members, func(m memberStatus) bool { return m.QuotaBytes > 0 })
	ceiling := "OF-VOLUME"
	if limited {
		ceiling = "OF-QUOTA"
	}
	columns = append(columns, ceiling)
	columns = append(slices.Concat(columns, readings.Columns()), "NODE")
	if out.Wide() {
		columns = append(columns, "RESTARTS", "ID", "CLUSTER-ID", "PROTOCOL", "POSITION")
		columns = append(columns, details.Columns()...)
		if s.AgentImage != "" {
			columns = append(columns, "AGENT")
		}
	}
	t := out.NewTable(columns...)
	for _, m := range s.Members {
		role, version, behind, db, filled := string(m.Role), m.Version, m.lag, "", ""
		if !m.Reachable {
			role, version, behind, db, filled = "unreachable", "-", "-", "-", "-"
			if s.Unasked != "" {
				role = printer.Unknown
			}
		} else if m.DataBytes > 0 {
			db = printer.Size(m.DataBytes)
			filled = share(m.DataBytes, m.VolumeBytes)
			if limited {
				filled = share(m.DataBytes, m.QuotaBytes)
			}
		}
		if m.Reachable && !limited && m.Disk.Total > 0 {
			filled = share(m.Disk.Used, m.Disk.Total)
		}
		row := []string{m.Name, role, version, behind, db, filled}
		row = append(slices.Concat(row, readings.Row(m.Readings)), m.Node)
		if out.Wide() {
			row = append(row, strconv.Itoa(int(m.Restarts)), m.ID, m.ClusterID, m.Protocol, string(m.Position))
			row = append(row, details.Row(m.Details)...)
			if s.AgentImage != "" {
				row = append(row, m.AgentImage)
			}
		}
		t.Row(row...)
	}
	return t
}

// share is how much a database takes of what it may have; "" where that has no end.
func share(used, most int64) string {
	if most <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%%", 100*used/most)
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
