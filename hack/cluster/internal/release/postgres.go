package release

import (
	"path"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/debian"
)

// Postgres is the family of PostgreSQL.
const Postgres = "postgres"

// postgres lists the releases of PostgreSQL. Of 15 there are two, for tests that go from one to the next: what Debian
// 12 came with, and what its security updates made of that.
func postgres() []Release {
	of := func(name string, major int, suites ...string) Release {
		return Release{Postgres, name, major, suites, postgresRecipe(strconv.Itoa(major))}
	}
	return []Release{
		of("15", 15, debian.Bookworm, debian.BookwormSecurity),
		of("15-before", 15, debian.Bookworm),
		of("17", 17, debian.Trixie, debian.TrixieSecurity),
		of("18", 18, debian.Forky),
	}
}

// postgresRecipe has the server with all its programs, and what a shell script in a pod needs. The compiler of queries
// is dropped: the server goes without it when its file is missing.
func postgresRecipe(major string) recipe {
	made := recipe{
		server: "postgresql-" + major,
		packages: []string{"postgresql-" + major, "postgresql-client-" + major, "tzdata", "openssl", "base-files",
			"libc-bin", "bash", "dash", "coreutils", "findutils", "grep", "sed", "tar", "gzip", "zstd"},
		without: []string{"adduser", "debconf", "debianutils", "dpkg", "init-system-helpers", "libllvm14", "libllvm19",
			"libllvm21", "locales", "mawk", "netbase", "perl", "perl-base", "postgresql-client-common", "postgresql-common",
			"readline-common", "sensible-utils", "ssl-cert", "sysvinit-utils", "ucf"},
		dropped: []string{"usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian",
			"usr/share/bug", "usr/share/bash-completion", "usr/share/perl5", "usr/share/icons", "usr/include",
			"usr/lib/x86_64-linux-gnu/gconv", "usr/lib/systemd", "usr/libexec", "usr/lib/postgresql/*/lib/bitcode",
			"usr/lib/postgresql/*/lib/pgxs", "usr/share/postgresql/*/man",
			"usr/lib/postgresql/*/lib/llvmjit*", "etc/init.d", "etc/cron.d", "etc/skel",
			"var/run", "var/lock"},
		says:  "(PostgreSQL) ",
		image: "docker.io/library/postgres",
	}
	for _, program := range []string{"postgres", "initdb", "pg_ctl", "pg_basebackup", "pg_rewind", "pg_controldata",
		"pg_checksums", "pg_amcheck", "pg_dump", "pgbench", "psql"} {
		made.programs = append(made.programs, path.Join("usr/lib/postgresql", major, "bin", program))
	}
	return made
}
