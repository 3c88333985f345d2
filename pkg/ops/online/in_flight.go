package online

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// inFlight is the stage, one of some, whose operation is in flight: what it is for may be done, and its record not.
func (p Pair) inFlight(of ...Stage) Stage {
	for _, stage := range []Stage{p.inFlightAtFormer(), p.inFlightAtNext()} {
		if stage != Done && slices.Contains(of, stage) {
			return stage
		}
	}
	return Done
}

func (p Pair) inFlightAtFormer() Stage {
	o := p.Former.Operation
	if o == nil {
		return Done
	}
	switch o.Spec.Verb {
	case v1alpha1.VerbFollow:
		return Follow
	case v1alpha1.VerbCutover:
		return CutBack
	case v1alpha1.VerbStop:
		return Stop
	case v1alpha1.VerbConfigure:
		switch to := redirection(o); {
		case p.preparing() != nil:
			return Prepare
		case to == nil:
			return Done
		case *to == "":
			return Return
		case *to == p.Name:
			return Redirect
		}
	default:
	}
	return Done
}

// preparing is what a change in flight makes of the former cluster, if that has it followed; else nil.
func (p Pair) preparing() *v1alpha1.SettingsChange {
	o, f := p.Former.Operation, engine.Followed(nil)
	if o != nil {
		f, _ = p.Engine.(engine.Followed)
	}
	if f == nil || o.Spec.Verb != v1alpha1.VerbConfigure || o.Spec.Change == nil {
		return nil
	}
	bare := *p.Former.Cluster.Spec.DeepCopy()
	bare.Config = nil
	for name := range f.FollowedSettings(bare) {
		if _, given := o.Spec.Change.Set[name]; given {
			return o.Spec.Change
		}
	}
	return nil
}

func (p Pair) inFlightAtNext() Stage {
	o := p.Next.Operation
	switch {
	case o == nil:
		return Done
	case o.Spec.Verb == v1alpha1.VerbCreate:
		return Create
	case o.Spec.Verb == v1alpha1.VerbCutover && o.Spec.Finish:
		return Finish
	case o.Spec.Verb == v1alpha1.VerbCutover:
		return CutOver
	}
	return Done
}

// redirection is where an operation sends clients; nil if it does not.
func redirection(o *v1alpha1.Operation) *string {
	if o.Spec.Change == nil {
		return nil
	}
	return o.Spec.Change.RedirectTo
}
