package cluster

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/command"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/online"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// intent is the operation of a stage.
func (u *onlineUpgrade) intent(ctx context.Context, p online.Pair, stage online.Stage) (command.Intent, error) {
	former, next := p.Former.Cluster.Name, u.into
	if stage == online.Create {
		return u.create(ctx, p)
	}
	verb, of := v1alpha1.VerbConfigure, former
	switch stage {
	case online.CutOver, online.Finish:
		verb, of = v1alpha1.VerbCutover, next
	case online.CutBack:
		verb = v1alpha1.VerbCutover
	case online.Follow:
		verb = v1alpha1.VerbFollow
	case online.Stop:
		verb = v1alpha1.VerbStop
	case online.Prepare, online.Create, online.Adopt, online.Redirect, online.Return, online.Done:
	}
	_, in, err := u.change.Begin(ctx, verb, []string{of})
	if err != nil {
		return in, err
	}
	in.Next = ""
	switch stage {
	case online.Prepare:
		in.Verbed = "configured"
		in.Request.Operation.Waive = command.Waived(map[string]bool{"downtime": u.allowDowntime})
		return settings(in, online.Settings(p)), nil
	case online.Redirect:
		in.Verbed = "redirected to " + next
		return settings(in, &v1alpha1.SettingsChange{RedirectTo: &next}), nil
	case online.Return:
		in.Verbed = "serves its clients itself"
		return settings(in, &v1alpha1.SettingsChange{RedirectTo: new("")}), nil
	case online.CutOver:
		in = cutOver(in)
		in.Request.Operation.WayBack = true
		in.Ask = moves(former, next)
	case online.CutBack:
		in = cutOver(in)
		in.Ask = moves(next, former)
	case online.Follow:
		in.Request.Operation.Follow, in.Verbed = next, "follows "+next
	case online.Stop:
		in.Verbed = "stopped"
		in.Ask = func(*planner.Prepared) (command.Question, error) {
			return command.Question{What: "Stop cluster " + former + ", whose clients are sent to " + next,
				Lost: []string{"the way back to " + former}, Kept: []string{"the volumes of " + former},
				Cluster: p.Next.Cluster}, nil
		}
	case online.Finish:
		in.Request.Operation.Finish, in.Verbed = true, "keeps nothing for "+former
	case online.Create, online.Adopt, online.Done:
	}
	return in, nil
}

// create makes the second cluster, or goes on to make it.
func (u *onlineUpgrade) create(ctx context.Context, p online.Pair) (command.Intent, error) {
	f := u.change.Factory
	made := policy.Successor(p.Former.Cluster, u.into)
	made.Spec.Version, made.Spec.Image, made.Spec.HelperImage = u.version, u.image, ""
	made.Spec.HelperImage = f.HelperImage("", made)
	if half := p.Next.Cluster; half != nil {
		made.Spec = *half.Spec.DeepCopy() // the former cluster may have changed since
	}
	if err := policy.Found(p.Engine, made, f.Random); err != nil {
		return command.Intent{}, err
	}
	spec := f.Operation(ctx, v1alpha1.VerbCreate, made.Name)
	spec.Members, spec.Version = made.Spec.Members, made.Spec.Version
	return command.Intent{Namespace: made.Namespace, Engine: p.Engine, Subject: p.Engine.Name() + "/" + made.Name,
		Verbed:  "created, and follows " + p.Former.Cluster.Name,
		Request: planner.Request{Operation: spec, Cluster: made}}, nil
}

// cutOver says in the end what the cut over came to.
func cutOver(in command.Intent) command.Intent {
	in.Verbed = "takes writes"
	in.Settled = func(in *command.Intent, o *v1alpha1.Operation) {
		if text := o.Status.Facts[v1alpha1.FactCutOver]; text != "" {
			in.Verbed += " (" + text + ")"
		}
	}
	return in
}

// moves asks before clients move from one cluster to the other.
func moves(from, to string) func(*planner.Prepared) (command.Question, error) {
	return func(p *planner.Prepared) (command.Question, error) {
		q := command.Question{What: fmt.Sprintf("Send the clients of %s to %s", from, to), Cluster: p.State.Cluster,
			Lost: []string{"every connection to " + from, "a few seconds in which nobody can write"},
			Kept: []string{"all data, in both clusters"}}
		if source := p.State.View.Source; source != nil {
			q.Stays = append(q.Stays, source.Left...)
		}
		return q, nil
	}
}
