package diagnostics

import (
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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
	// Restorable is the newest moment that a restore gives back, and when that was proven; none without a backup.
	Restorable *health.Restorable `json:"restorable,omitempty"`
	Schedule   *health.Schedule   `json:"schedule,omitempty"`
	// Archive takes the log, for engines that archive it.
	Archive *archiveStatus `json:"archive,omitempty"`
	// Hold keeps members from leading that don't lead now.
	Hold *engine.Hold `json:"hold,omitempty"`
	// Source is the server outside of the cluster that it copies or follows.
	Source    *engine.Source   `json:"source,omitempty"`
	Operation *operationStatus `json:"operation,omitempty"`
	// Backup is in flight beside Operation.
	Backup *operationStatus `json:"backup,omitempty"`
	// LastError is the newest error of an operation since one succeeded.
	LastError *lastError `json:"lastError,omitempty"`
	// Holding says who works on the cluster.
	Holding *lease.Holding `json:"holding,omitempty"`
	Custom  *customStatus  `json:"custom,omitempty"`
	// Paused says that nobody acts on the cluster, and who asked for that.
	Paused bool            `json:"paused,omitempty"`
	Pause  *v1alpha1.Pause `json:"pause,omitempty"`
	// AgentImage is the image that agents are to come from, for engines with agents.
	AgentImage string `json:"agentImage,omitempty"`
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
	// AgentImage is where the agent that runs came from, for engines with agents.
	AgentImage string `json:"agentImage,omitempty"`
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
		Engine: c.Spec.Engine, Version: c.Spec.Version, Members: []memberStatus{},
		WantedMembers: c.Spec.Members, Tolerates: e.Tolerates(s.View), LastBackup: c.Status.LastBackup,
		LastVerifiedBackup: c.Status.LastVerifiedBackup, Schedule: health.Scheduled(s), Source: s.View.Source,
		Hold:   s.View.Hold,
		Paused: c.Spec.Paused, Pause: c.Status.Pause, Unasked: s.Unasked,
		AgentImage: rules.AgentImage(e, c), Archive: archiveOf(e, s), Restorable: health.RestorableOf(e, s)}
	leader, led := s.View.Leader()
	for _, name := range memberNames(s) {
		m := memberStatus{Member: s.View.Member(name)}
		facts := s.Kube.Member(name)
		m.Node, m.Restarts, m.VolumeBytes = facts.Pod.Node, facts.Pod.Restarts, facts.Volume.Capacity.Value()
		m.AgentImage = facts.Pod.AgentImage
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
	if op := s.First(); op != nil {
		out.Operation = newOperationStatus(op)
		out.Operation.Stopped = s.Stopped()
	}
	if s.Backup != nil && s.Operation != nil {
		out.Backup = newOperationStatus(s.Backup)
	}
	return out
}

func newOperationStatus(op *v1alpha1.Operation) *operationStatus {
	return &operationStatus{Name: op.Name, Verb: op.Spec.Verb, Phase: op.Status.Phase, By: op.Spec.RequestedBy,
		From: op.Spec.RequestedFrom, Started: op.Status.StartedAt.Time, Step: lastStep(op), Message: op.Status.Message}
}

// archiveStatus is where the log goes.
type archiveStatus struct {
	Repository string `json:"repository"`
	// Interval is how often a file is complete at least; "" for whenever one is full.
	Interval string `json:"interval,omitempty"`
	// Until is the time of the last commit that the archive has without a gap; none if the agent does not know.
	Until time.Time `json:"until,omitzero"`
}

// archiveOf is nil where no log is archived.
func archiveOf(e engine.Engine, s ops.State) *archiveStatus {
	to := health.ArchiveRepository(e, s)
	if to == "" {
		return nil
	}
	return &archiveStatus{Repository: to, Interval: health.ArchiveInterval(e, s),
		Until: health.ArchivedUntil(s)}
}

// text says what the loss of all volumes takes along.
func (a archiveStatus) text() string {
	since := "since the last file was full"
	if a.Interval != "" {
		since = "in the last " + a.Interval
	}
	text := "in " + a.Repository
	if !a.Until.IsZero() {
		text += ", with what was committed until " + ops.Moment(a.Until)
	}
	return fmt.Sprintf("%s; the loss of all volumes loses what was committed %s, and the files that wait (UNARCHIVED)",
		text, since)
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
