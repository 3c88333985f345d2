package health

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// authentication tells when clients are let in who must not be, and when users or the initial SQL are missing: the
// record of the operation that creates the cluster was lost before it came to them.
func (a *assessment) authentication() {
	c := a.s.Cluster
	switch {
	case !c.Spec.Auth.Enabled || a.s.Operation != nil:
	case a.s.Formed() && a.s.Bootstrap().Unfinished:
		missing := "its users may"
		if c.Spec.InitialSQL != nil {
			missing = "its users and its initial SQL may"
		}
		then := "repeat the command that created it"
		if c.Managed() {
			then = "the operator makes them"
		}
		a.problem("the creation of %s was not finished, and %s be missing: %s", c.Name, missing, then)
	case a.s.View.Auth() == engine.AuthOff:
		a.problem("clients are let in without logging in, although they must: kubectl dbop user auth enable %s", c.Name)
	}
}
