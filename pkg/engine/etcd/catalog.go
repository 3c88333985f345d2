package etcd

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// repository of the official images: distroless, with nothing but etcd,
// etcdctl and etcdutl inside.
const repository = "gcr.io/etcd-development/etcd"

const defaultVersion = "3.6.16"

// Catalog implements engine.Engine. Beside the newest patch of a series it
// knows the one from which authentication no longer leaks watch events across
// keys (3.5.33, 3.6.14, 3.7.1).
func (*Engine) Catalog() engine.Catalog {
	versions := []string{"3.5.33", "3.5.35", "3.6.14", "3.6.16", "3.7.1", "3.7.3"}
	releases := make([]engine.Release, len(versions))
	for i, v := range versions {
		releases[i] = engine.Release{Version: v, Series: series(v), Image: repository + ":v" + v}
	}
	return engine.Catalog{Releases: releases, Default: defaultVersion}
}
