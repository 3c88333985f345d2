#!/usr/bin/env bash
# Runs a command with a /tmp of its own, in memory, where there is much of it and the caller may mount. Tests that run
# database servers would wait for the disk at every commit, behind whatever else keeps it busy.
set -euo pipefail
gibibytes=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
if [ "$gibibytes" -ge 12 ] && unshare --mount true 2>/dev/null; then
	exec unshare --mount sh -c 'mount -t tmpfs -o size=6g,mode=1777 tmpfs /tmp && exec "$@"' sh "$@"
fi
exec "$@"
