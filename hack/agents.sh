#!/usr/bin/env bash
# Runs what only further major versions of PostgreSQL show, and where DBOP_TORTURE is all the tests of the driver and
# stories of the agent as well:
#   hack/agents.sh 17 18
# Each runs in a mount namespace whose /usr is a tree that hack/cluster makes of Debian's packages. So the server has the
# libraries of its own release, at the same paths as in a pod. A failure does not keep the next version from being tried.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

if [ "$(id -u)" != 0 ]; then
	echo "PostgreSQL $* can't be tried: it takes root to mount the directories with its programs" >&2
	exit 1
fi
# What only a later version shows. make torture runs the tests that the version of this machine went through, too.
others='TestConvert$|TestConvertLinked$|TestConvertCloned$|TestConvertBroken$|TestIncremental'
whole=
if [ "${DBOP_TORTURE:-}" = all ]; then
	others='TestConvert|TestTargets|TestRandomMoments|TestStockRestore|TestCheckData|TestIncremental|TestMoveBackMajor' whole=yes
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/dbop-agents.XXXXXX")
trap 'umount "$work/clones" 2>/dev/null || true; rm -rf "$work"' EXIT
chmod 755 "$work" # the servers run as another user
# A file system that clones files. Without xfsprogs, which a local cluster brings, what needs it says that it is skipped.
if command -v mkfs.xfs >/dev/null; then
	mkdir "$work/clones"
	truncate -s 2G "$work/image"
	mkfs.xfs -q -m reflink=1 "$work/image"
	mount -o loop "$work/image" "$work/clones"
	export DBOP_CLONES="$work/clones"
fi
[ -z "$whole" ] || go test -c -o "$work/postgres.test" ./pkg/agent/postgres
go test -c -ldflags=-w -o "$work/agent.test" ./test/agent
go build -o "$work/dbop-agent" ./cmd/dbop-agent

# within USR DIRECTORY COMMAND... runs a command where /usr is another directory.
within() {
	# shellcheck disable=SC2016 # the inner shell expands it
	unshare --mount --propagation private sh -c 'mount --bind "$1" /usr && cd "$2" && shift 2 && exec "$@"' sh "$@"
}

# tree MAJOR makes the tree of a version, and prints where it is.
tree() {
	bin/cluster build "postgres-$1" >&2 || return
	release=${DBOP_CLUSTER_CACHE:-$HOME/.cache/dbop-cluster}/postgres/$1/release.json
	sed -n 's/^ *"root": "\(.*\)",*$/\1/p' "$release"
}

code=0
former=$(tree 15) # and those of the versions that were tried: their data is converted
for major in "$@"; do
	usr=$(tree "$major")/usr
	release=${DBOP_CLUSTER_CACHE:-$HOME/.cache/dbop-cluster}/postgres/$major/release.json
	echo "PostgreSQL $(sed -n 's/^ *"version": "\(.*\)",*$/\1/p' "$release")"
	if [ -n "$whole" ]; then
		within "$usr" "$root/pkg/agent/postgres" "$work/postgres.test" -test.timeout 10m || code=1
		# The seed differs, so that each version meets other troubles.
		within "$usr" "$root/test/agent" env DBOP_AGENT="$work/dbop-agent" \
			"$work/agent.test" -test.v -test.parallel 3 -test.timeout 30m -test.run '^(TestStory|TestRequests)$/^(strict|preferred)-' \
			-seed "$major" || code=1
	fi
	within "$usr" "$root/test/agent" env DBOP_AGENT="$work/dbop-agent" DBOP_FORMER="$former" \
		"$work/agent.test" -test.v -test.timeout 30m -test.run "^($others)" || code=1
	former="$former ${usr%/usr}"
done
exit $code
