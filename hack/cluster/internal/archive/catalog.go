package archive

import (
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Pause is the image whose container holds a pod's namespaces.
const Pause = "dbop.test/pause:1"

// etcdVersions are the releases to test with: the newest of every minor one.
// The directories hack/cluster/images/etcd-* pin the same.
var etcdVersions = map[string]string{"etcd-3.5": "v3.5.35", "etcd-3.6": "v3.6.16", "etcd-3.7": "v3.7.3"}

// Standard lists the images that every node of a cluster has.
func Standard(at site.Site) []Image {
	images := []Image{pause(at)}
	for _, minor := range []string{"etcd-3.5", "etcd-3.6", "etcd-3.7"} {
		images = append(images, etcd(at, minor))
	}
	for _, built := range release.InCache(at) {
		images = append(images, database(built))
	}
	return images
}

// database is the image of a release that was made of Debian's packages.
func database(built release.Built) Image {
	if built.Family == release.Postgres {
		return postgres(built)
	}
	return valkey(built)
}

// File is where the archive of a standard image is kept.
func (i Image) File(at site.Site) string {
	return filepath.Join(at.Images(), strings.NewReplacer("/", "_", ":", "_").Replace(i.Name)+".tar")
}

// pause is the smallest image that waits.
func pause(at site.Site) Image {
	return Image{
		Name:       Pause,
		Programs:   []string{at.Bin("pause")},
		Entrypoint: []string{"/usr/local/bin/pause"},
		User:       "65535",
	}
}

// etcd has the layout of the official image: same paths, no shell, root
// unless a pod says otherwise. The name is ours, for so is the build.
func etcd(at site.Site, minor string) Image {
	return Image{
		Name:       "dbop.test/etcd-development/etcd:" + etcdVersions[minor],
		Programs:   []string{at.Bin(minor, "etcd"), at.Bin(minor, "etcdctl"), at.Bin(minor, "etcdutl")},
		Dirs:       []string{"var/etcd", "var/lib", "var/lib/etcd"},
		Command:    []string{"/usr/local/bin/etcd"},
		WorkingDir: "/var/lib/etcd/",
		Ports:      []string{"2379", "2380"},
	}
}

// Plugin is the product's own image, around programs that were just built. It starts the first one.
func Plugin(name string, programs ...string) Image {
	return Image{
		Name:       name,
		Programs:   programs,
		Entrypoint: []string{"/usr/local/bin/" + filepath.Base(programs[0])},
		User:       "65532:65532",
		WorkingDir: "/home/nonroot",
	}
}
