package operation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// legacy is what the volume of one member says.
type legacy struct {
	member string
	engine.DataDirInfo
}

// recoverData examines every volume that is left, then makes a backup of a copy of
// the most advanced data. Everything that it decides by is in the record.
func recoverData(p rules.Situation, evidence health.Evidence) *ops.Decision {
	if d := examineVolumes(p, evidence.Kept); d != nil {
		return d
	}
	all := VolumesExamined(p, evidence.Kept)
	if d := oneHistory(p, all); d != nil {
		return d
	}
	if d := provenWell(p, all, evidence); d != nil {
		return d
	}
	return backUpFurthest(p, all)
}

// backUpStopped examines the volumes of members that were stopped, then makes a backup of a copy of the most advanced
// data.
func backUpStopped(p rules.Situation, names []string) *ops.Decision {
	all, d := examineStopped(p, names)
	if d != nil {
		return d
	}
	return backUpFurthest(p, all)
}

// examineStopped examines the volumes of members with data that were stopped.
func examineStopped(p rules.Situation, names []string) ([]legacy, *ops.Decision) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.Contains(p.S.Bootstrap().Witnesses, name)
	})
	if d := examineVolumes(p, names); d != nil {
		return nil, d
	}
	all := VolumesExamined(p, names)
	return all, oneHistory(p, all)
}

// examineVolumes has the volumes read that were not yet, at the same time: nobody can write meanwhile.
func examineVolumes(p rules.Situation, names []string) *ops.Decision {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return p.S.Fact(v1alpha1.FactExamined(name)) != ""
	})
	if len(names) == 0 {
		return nil
	}
	title := "Examine the volume of " + names[0]
	if len(names) > 1 {
		title = "Examine the volumes of " + strings.Join(names, ", ")
	}
	return rules.Do(ops.Step{ID: string(ops.ActionExamine) + "/" + strings.Join(names, ","), Action: ops.ActionExamine,
		Members: names, Risk: ops.RiskNone, Deadline: rules.StreamDeadline, Title: title, Reason: "it is only read",
		Touches: rules.Claims(names)})
}

// backUpFurthest makes the backup of a copy of the most advanced data.
func backUpFurthest(p rules.Situation, all []legacy) *ops.Decision {
	id, fact := ops.StoppedBackup(p.S.Operation)
	best, d := chosenData(p, all)
	if d != nil || p.S.Fact(fact) != "" {
		return d
	}
	reason := "the most advanced of what is examined then"
	if best.Summary != "" {
		reason = best.member + ": " + best.Summary
	}
	return rules.Do(ops.Step{ID: ops.StepRecoverData, Action: ops.ActionRecoverData, Members: []string{best.member},
		Risk: ops.RiskNone, Deadline: rules.StreamDeadline,
		Title:   "Serve a copy of the most advanced data by itself, and back that up to " + p.S.Operation.Spec.Repository,
		Reason:  reason,
		Touches: []string{"backup/" + id}})
}

// VolumesExamined reads the record. A plan runs ahead of the examination: there every
// volume is taken for well, with nothing known of it.
func VolumesExamined(p rules.Situation, names []string) []legacy {
	out := make([]legacy, len(names))
	for i, name := range names {
		out[i] = legacy{member: name, DataDirInfo: engine.DataDirInfo{Intact: true}}
		var r engine.DataDirInfo
		if json.Unmarshal([]byte(p.S.Fact(v1alpha1.FactExamined(name))), &r) == nil {
			out[i].DataDirInfo = r
		}
	}
	return out
}

// oneHistory refuses to choose between data of different clusters.
func oneHistory(p rules.Situation, all []legacy) *ops.Decision {
	var says []string
	split := false
	for _, r := range all {
		if r.ClusterID != "" {
			says = append(says, r.member+" is of "+r.ClusterID)
			split = split || !sameDatabase(p.E, r.ClusterID, p.S.Bootstrap().ClusterID)
		}
	}
	if !split {
		return nil
	}
	return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "split",
		Message: fmt.Sprintf("not all data is of cluster %s: %s", p.S.Bootstrap().ClusterID, strings.Join(says, ", ")),
		Hint: fmt.Sprintf(
			"leave out what is not the database's: kubectl dbop recover %s --method data --without MEMBER; or let them run "+
				"again: kubectl dbop cancel %s", p.S.Cluster.Name, p.S.Cluster.Name)})
}

// provenWell goes back if the examination cleared a majority of all doubt.
func provenWell(p rules.Situation, all []legacy, evidence health.Evidence) *ops.Decision {
	var well []string
	for _, r := range all {
		if r.Intact && r.ClusterID != "" {
			well = append(well, r.member)
		}
	}
	if len(well) < ops.Majority(evidence.Voters) || p.S.Waives("transient") {
		return nil
	}
	return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "transient",
		Message: fmt.Sprintf("the data of %s is intact, and they are a majority: nothing is lost if they run again",
			strings.Join(well, ", ")),
		Hint: fmt.Sprintf("kubectl dbop cancel %s lets them; insist with --force", p.S.Cluster.Name)})
}

func sameDatabase(e engine.Engine, found, recorded string) bool {
	recoverer, ok := e.(engine.DataRecoverer)
	return !ok || recoverer.SameDatabase(found, recorded)
}

// chosenData is the intact data that a person named, or else that which holds all of the others.
func chosenData(p rules.Situation, all []legacy) (legacy, *ops.Decision) {
	if best := furthest(p, all); best.member != "" {
		return best, diverged(p, best, all)
	}
	var broken []string
	for _, r := range all {
		broken = append(broken, fmt.Sprintf("%s: %s", r.member, r.Problem))
	}
	hint := "kubectl dbop recover " + p.S.Cluster.Name + " --method backup"
	if newest := (&health.Examination{S: p.S}).NewestBackup(); newest != nil {
		hint += fmt.Sprintf(" takes the newest verified one; known: %s of %s", newest.ID, ops.Moment(newest.Time.Time))
	}
	return legacy{}, rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "no-data",
		Message: "no data that is left can be used: " + strings.Join(broken, "; "), Hint: hint})
}

// furthest is what a person named; without that it picks by the engine's rule, of equals the first. It is no member's
// if none is intact.
func furthest(p rules.Situation, all []legacy) legacy {
	var best legacy
	named := p.S.Operation.Spec.Member
	for _, r := range all {
		if r.Intact && (named == "" || named == r.member) && (best.member == "" || ahead(p, r, best)) {
			best = r
		}
	}
	return best
}

// diverged asks a person to choose where data has writes that the best does not hold. A plan knows no positions.
func diverged(p rules.Situation, best legacy, all []legacy) *ops.Decision {
	recoverer, ok := p.E.(engine.DataRecoverer)
	if !ok || p.S.Operation.Spec.Member != "" {
		return nil
	}
	for _, r := range all {
		if !r.Intact || r.member == best.member || r.Position == "" || best.Position == "" {
			continue
		}
		if order, ok := recoverer.CompareDataDirs(best.Position, r.Position); ok && order >= 0 {
			continue
		}
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "diverged",
			Message: fmt.Sprintf("%s and %s may each hold writes that the other does not (%s: %s; %s: %s)", best.member,
				r.member, best.member, best.Summary, r.member, r.Summary),
			Hint: fmt.Sprintf("choose one; the volumes of both stay: kubectl dbop recover %s --method data --from %s",
				p.S.Cluster.Name, best.member)})
	}
	return nil
}

// ahead says whether a holds more than b, or as much and is the better one to go on with.
func ahead(p rules.Situation, a, b legacy) bool {
	s, ok := p.E.(engine.DataRecoverer)
	if !ok {
		return false
	}
	order, ok := s.CompareDataDirs(a.Position, b.Position)
	return ok && (order > 0 || order == 0 && a.InOrder && !b.InOrder)
}

// Examined are the results of a recovery's examination, one line each: which
// data was chosen, and how far the others are behind it.
func Examined(e engine.Engine, op *v1alpha1.Operation) []string {
	p := rules.Situation{E: e, S: ops.State{Operation: op}}
	var names []string
	for fact := range op.Status.Facts {
		if name, ok := strings.CutPrefix(fact, v1alpha1.FactExamined("")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	all := VolumesExamined(p, names)
	best := furthest(p, all)
	out := make([]string, 0, len(all))
	for _, r := range all {
		line := r.member + ": " + r.Summary
		switch {
		case !r.Intact:
			line = r.member + ": can't be used: " + r.Problem
		case r.member == best.member:
			line += " (chosen)"
		default:
			if recoverer, ok := e.(engine.DataRecoverer); ok {
				line += " (" + recoverer.DataDirLag(engine.Gap{Leader: best.Position, Member: r.Position}) + ")"
			}
		}
		out = append(out, line)
	}
	return out
}
