package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Versioned is what upgrade and downgrade share.
type Versioned struct{ rules.Plain }

// Manners implements rules.Operation.
func (Versioned) Manners() ops.Manners {
	return ops.Manners{
		StepsBack: ops.Anytime, Rolls: true,
		Same: func(have, asked v1alpha1.OperationSpec) bool { return have.Version == asked.Version },
	}
}

// Check implements rules.Operation.
func (Versioned) Check(_ engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if err := ops.CheckImage("--image", o.Image); err != nil {
		return err
	}
	if c.Spec.Image != "" && o.Image == "" && o.Undoes == "" {
		return &engine.Refusal{Check: "image", Hint: "name the new one with --image",
			Reason: fmt.Sprintf("%s runs an image of your own (%s), so this tool can't know that of %s", c.Name, c.Spec.Image,
				o.Version)}
	}
	return nil
}

// ApplyTo implements rules.Operation.
func (Versioned) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	if o.InPlace {
		return // the new incarnation begins with it
	}
	spec.Version, spec.Image = o.Version, o.Image
	if back {
		spec.Version, spec.Image = o.FromVersion, o.FromImage
	}
}

// Undo goes back by the other verb, with all its checks: the engine knows which ways there are.
func (Versioned) Undo(u *rules.Undoing) error {
	of, o := u.Of.Spec, &u.Operation
	if of.FromVersion == "" {
		return u.Unrecorded("which version ran before")
	}
	o.Verb, o.Version, o.Image, u.TakesBackup = v1alpha1.VerbDowngrade, of.FromVersion, of.FromImage, true
	if of.Verb == v1alpha1.VerbDowngrade {
		o.Verb = v1alpha1.VerbUpgrade
	}
	u.Title = fmt.Sprintf("%s from %s back to %s", o.Verb, of.Version, of.FromVersion)
	return nil
}
