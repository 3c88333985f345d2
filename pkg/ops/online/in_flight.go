package online

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
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
		case to == nil:
			return Prepare
		case *to == "":
			return Return
		case *to == p.Name:
			return Redirect
		}
	default:
	}
	return Done
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
