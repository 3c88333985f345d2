package flags

import "github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"

// Usual is etcd's own default in that version.
func (o Option) Usual(v versions.Version) string {
	if o.Later != "" && !v.Line().Less(versions.SchemaLine) {
		return o.Later
	}
	return o.Fallback
}
