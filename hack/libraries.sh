#!/usr/bin/env bash
# Installs the client libraries that TestClientLibraries writes with, and prints the directory that holds them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
. hack/versions.env
to=${XDG_CACHE_HOME:-$HOME/.cache}/dbop-libraries
command -v npm >/dev/null || {
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm
} >&2
mkdir -p "$to"
npm install --prefix "$to" --no-audit --no-fund --ignore-scripts "ioredis@$IOREDIS_VERSION" \
	"iovalkey@$IOVALKEY_VERSION" >&2
echo "$to/node_modules"
