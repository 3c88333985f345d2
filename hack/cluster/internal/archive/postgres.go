package archive

import (
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
)

// postgresUser is the user and the group of the server in the official image.
const postgresUser = 999

// postgres has the layout of the official image of PostgreSQL: same user, same paths, same signal, an anonymous volume
// at the same place, a shell. What it lacks is the script that is the official one's entrypoint.
func postgres(built release.Built) Image {
	major := strconv.Itoa(built.Major)
	volume, data := "/var/lib/postgresql/data", "/var/lib/postgresql/data"
	if built.Major >= 18 {
		volume, data = "/var/lib/postgresql", "/var/lib/postgresql/"+major+"/docker"
	}
	image := Image{
		Name:    built.Image,
		Also:    []string{strings.Replace(built.Image, "docker.io/", "dbop.test/", 1)},
		Tree:    built.Root,
		Command: []string{"postgres"},
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/" + major + "/bin",
			"LANG=C.UTF-8", "PG_MAJOR=" + major, "PG_VERSION=" + built.Version, "PGDATA=" + data,
		},
		Ports:      []string{"5432/tcp"},
		Volumes:    []string{volume},
		StopSignal: "SIGINT",
		own: []entry{
			{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/bash\n" +
				"postgres:x:999:999::/var/lib/postgresql:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n")},
			{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\npostgres:x:999:\nnogroup:x:65534:\n")},
			{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
			{name: "docker-entrypoint-initdb.d/", mode: 0o755},
			{name: "tmp/", mode: 0o1777},
			{name: "usr/local/bin/", mode: 0o755},
			{name: "var/lib/postgresql/", mode: 0o1777, owner: postgresUser},
			{name: "var/run", mode: 0o777, link: "/run"},
			{name: "run/postgresql/", mode: 0o3777, owner: postgresUser},
		},
	}
	if built.Major < 18 {
		image.own = append(image.own, entry{name: "var/lib/postgresql/data/", mode: 0o1777, owner: postgresUser})
	}
	return image
}
