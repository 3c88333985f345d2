package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// repository of the official images: distroless, with nothing but etcd,
// etcdctl and etcdutl inside.
const repository = "gcr.io/etcd-development/etcd"

// Catalog implements engine.Engine. Beside the newest patch of a series it
// knows the one from which authentication no longer leaks watch events across
// keys (3.5.33, 3.6.14, 3.7.1).
func (*Engine) Catalog() engine.Catalog {
	patches := []string{"3.5.33", "3.5.35", "3.6.14", "3.6.16", "3.7.1", "3.7.3"}
	releases := make([]engine.Release, len(patches))
	for i, v := range patches {
		releases[i] = engine.Release{Version: v, Series: versions.Series(v), Image: repository + ":v" + v}
	}
	return engine.Catalog{Releases: releases, Default: versions.Default}
}
