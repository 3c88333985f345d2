package release

import "github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/debian"

// Valkey and Redis are the families of these servers.
const (
	Valkey = "valkey"
	Redis  = "redis"
)

func valkey() []Release {
	made := keyValue(Valkey, "docker.io/valkey/valkey")
	return []Release{
		{Valkey, "8", 8, []string{debian.Trixie, debian.TrixieSecurity}, made},
		{Valkey, "9", 9, []string{debian.Forky}, made},
	}
}

func redis() []Release {
	made := keyValue(Redis, "docker.io/library/redis")
	return []Release{
		{Redis, "7", 7, []string{debian.Bookworm, debian.BookwormSecurity}, made},
		{Redis, "8", 8, []string{debian.Trixie, debian.TrixieSecurity}, made},
	}
}

// keyValue has the server with all its programs, and what a shell script in a pod needs.
func keyValue(name, image string) recipe {
	return recipe{
		server: name + "-server",
		packages: []string{name + "-server", name + "-sentinel", name + "-tools", "tzdata", "openssl", "base-files",
			"libc-bin", "bash", "dash", "coreutils", "findutils", "grep", "sed", "tar", "gzip"},
		without: []string{"adduser", "debconf", "debianutils", "dpkg", "init-system-helpers", "lsb-base", "mawk", "netbase",
			"perl", "perl-base", "procps", "systemd", "systemd-standalone-sysusers", "systemd-standalone-tmpfiles",
			"systemd-sysusers", "systemd-tmpfiles", "sysvinit-utils"},
		dropped: []string{"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian",
			"usr/share/bug", "usr/share/bash-completion", "usr/include", "usr/lib/x86_64-linux-gnu/gconv",
			"usr/lib/systemd", "usr/libexec", "etc/init.d", "etc/cron.d", "etc/skel", "etc/" + name, "var/run", "var/lock"},
		programs: []string{"usr/bin/" + name + "-server", "usr/bin/" + name + "-cli", "usr/bin/" + name + "-benchmark"},
		image:    image,
	}
}
