package etcd

import "github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"

// Series implements engine.Versions: major and minor.
func (*Engine) Series(version string) string { return versions.Series(version) }

// CompareVersions implements engine.Versions.
func (*Engine) CompareVersions(a, b string) (int, bool) {
	va, errA := versions.Parse(a)
	vb, errB := versions.Parse(b)
	if errA != nil || errB != nil {
		return 0, false
	}
	return va.Compare(vb), true
}
