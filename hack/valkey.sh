#!/usr/bin/env bash
# Puts the Valkey and Redis servers that tests of the agent run where their user can read them. They are the trees that
# hack/cluster makes of Debian's packages; each program runs with the libraries of its own release.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
TO=${DBOP_VALKEY:-/var/cache/dbop-valkey}
CACHE=${DBOP_CLUSTER_CACHE:-$HOME/.cache/dbop-cluster}

bin/cluster build valkey redis
for made in "$CACHE"/valkey/* "$CACHE"/redis/*; do
	program=$(basename "$(dirname "$made")")
	here=$TO/$program-$(basename "$made")
	! cmp -s "$made/release.json" "$here/release.json" || continue
	rm -rf "$here"
	mkdir -p "$here"
	cp -a "$made/root" "$here/root"
	for tool in server cli benchmark check-aof check-rdb; do
		cat >"$here/$program-$tool" <<END
#!/bin/sh
lib=$here/root/usr/lib/x86_64-linux-gnu
exec "\$lib/ld-linux-x86-64.so.2" --argv0 $program-$tool --library-path "\$lib" $here/root/usr/bin/$program-$tool "\$@"
END
		chmod 755 "$here/$program-$tool"
	done
	"$here/$program-server" --version
	chmod -R a+rX "$here"
	cp "$made/release.json" "$here/"
done
