package archive

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
)

// valkeyUser is the user and the group of the server in the official images of Valkey and Redis.
const valkeyUser = 999

// valkey has the layout of the official image of Valkey or Redis: same user, same paths, an anonymous volume at the
// same place, a shell. What it lacks is the script that is the official one's entrypoint.
func valkey(built release.Built) Image {
	name := built.Family
	return Image{
		Name:       built.Image,
		Also:       []string{strings.Replace(built.Image, "docker.io/", "dbop.test/", 1)},
		Tree:       built.Root,
		Command:    []string{name + "-server"},
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"},
		Ports:      []string{"6379/tcp"},
		Volumes:    []string{"/data"},
		WorkingDir: "/data",
		own: []entry{
			{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/bash\n" + name +
				":x:999:999::/data:/usr/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")},
			{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\n" + name + ":x:999:\nnogroup:x:65534:\n")},
			{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
			{name: "tmp/", mode: 0o1777},
			{name: "usr/local/bin/", mode: 0o755},
			{name: "data/", mode: 0o755, owner: valkeyUser},
		},
	}
}
