#!/usr/bin/env bash
# Loads the images that only measures need into the local cluster: HAProxy out of Debian's packages, with its libraries
# and its loader beside it, and rclone, which make stores builds.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
to=${DBOP_CLUSTER_CACHE:-$HOME/.cache/dbop-cluster}/haproxy

if [ ! -x "$to/made/haproxy" ]; then
	rm -rf "$to"
	mkdir -p "$to/apt" "$to/made"
	(
		cd "$to/apt"
		apt-get update -qq
		apt-get download -qq haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 libpcre2-8-0 libssl3 libsystemd0
		for package in *.deb; do dpkg -x "$package" "$to/root"; done
	)
	# Each library that it loads, and the loader, which has a path and no arrow.
	LD_LIBRARY_PATH=$to/root/usr/lib/x86_64-linux-gnu ldd "$to/root/usr/sbin/haproxy" |
		awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | xargs -I{} cp -L {} "$to/made"
	cp "$to/root/usr/sbin/haproxy" "$to/made"
fi
parts=("--binary" "$to/made/haproxy")
for library in "$to"/made/*.so.*; do parts+=("--binary" "$library"); done
bin/cluster image "${parts[@]}" --name dbop.test/dbop-dev/haproxy:bench

rclone="${XDG_CACHE_HOME:-$HOME/.cache}/dbop-stores/rclone"
[ ! -x "$rclone" ] || bin/cluster image --binary "$rclone" --name dbop.test/dbop-dev/rclone:bench
