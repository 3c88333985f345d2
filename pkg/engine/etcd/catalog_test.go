package etcd

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

func TestCatalog(t *testing.T) {
	t.Parallel()
	catalog := New().Catalog()
	for want, asked := range map[string]string{"3.5.35": "3.5", "3.6.16": "v3.6", "3.7.3": "3.7.3", "3.6.14": "3.6.14"} {
		r, err := catalog.Resolve(asked)
		if err != nil || r.Version != want || r.Image != "gcr.io/etcd-development/etcd:v"+want {
			t.Errorf("%s resolves to %+v (%v)", asked, r, err)
		}
	}
	if _, err := catalog.Resolve(catalog.Default); err != nil {
		t.Errorf("default: %v", err)
	}
	var known []versions.Version
	for _, r := range catalog.Releases {
		v, err := versions.Supported(r.Version)
		if err != nil || v.Less(versions.CreateFloor.At) {
			t.Errorf("release %s: %v", r.Version, err)
		}
		known = append(known, v)
	}
	if !slices.IsSortedFunc(known, versions.Version.Compare) {
		t.Errorf("releases are not in order: %v", known)
	}
}
