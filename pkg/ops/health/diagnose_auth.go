package health

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// authentication checks whether clients must log in as it is wanted. It says
// nothing of a cluster where nobody wants it and nobody does.
func (d *Examination) authentication() {
	wants := d.S.Cluster.Spec.Auth.Enabled
	f := ops.Finding{Severity: ops.OK, Subject: "authentication", What: "clients must log in, as it is wanted"}
	for _, m := range d.S.View.Members {
		if m.Auth != "" {
			f.Evidence = append(f.Evidence, m.Name+" says it is "+m.Auth)
		}
	}
	switch auth := d.S.View.Auth(); {
	case len(f.Evidence) == 0, auth == engine.AuthOff && !wants:
		return
	case auth == "":
		f.Severity, f.What = ops.Warn, "the members don't agree whether clients must log in"
		f.Remedy = []string{"check again: a member that is behind follows",
			"if it stays, its data differs: kubectl dbop member replace " + d.name + " MEMBER"}
	case auth == engine.AuthOff:
		f.Severity, f.What = ops.Fail, "clients are let in without logging in, although they must"
		f.Remedy = d.settle("kubectl dbop user auth enable " + d.name)
	case !wants:
		f.Severity, f.What = ops.Warn, "clients must log in, and this tool did not enable that"
		f.Remedy = []string{"kubectl dbop user auth enable " + d.name +
			" makes it its own: the administrator gets a new password",
			"or kubectl dbop user auth disable " + d.name}
	}
	d.add(f)
}
