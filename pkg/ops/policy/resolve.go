package policy

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Resolve returns a copy of a custom resource in which all is said that its engine needs and that a person may leave
// out, as a command says it at creation. Clients that always log in do so. Members with an agent keep the image of the
// agent that the record names; where there is no record yet, image is taken, so that a newer operator changes no
// member. Record may be nil.
func Resolve(e engine.Engine, custom, record *v1alpha1.DatabaseCluster, image string) *v1alpha1.DatabaseCluster {
	c := custom.DeepCopy()
	can := e.Capabilities()
	c.Spec.Auth.Enabled = c.Spec.Auth.Enabled || can.Login
	if !can.Agent || c.Spec.HelperImage != "" {
		return c
	}
	c.Spec.HelperImage = engine.Mirrored(image, c.Spec.Registry)
	if record != nil && record.Spec.HelperImage != "" {
		c.Spec.HelperImage = record.Spec.HelperImage
	}
	return c
}
