#!/usr/bin/env bash
# Installs Azurite, an emulator of Azure Blob Storage, as DIR/azurite, unless that version is there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
. hack/versions.env
to=$1/azurite-$AZURITE_VERSION
if [ ! -e "$to/installed" ]; then
	command -v npm >/dev/null || {
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nodejs npm
	} >&2
	npm install --prefix "$to" --no-audit --no-fund --omit=dev --ignore-scripts "azurite@$AZURITE_VERSION" >&2
	touch "$to/installed"
fi
printf '#!/bin/sh\nexec node %s/node_modules/azurite/dist/src/blob/main.js "$@"\n' "$to" >"$1/azurite.new"
chmod +x "$1/azurite.new"
mv "$1/azurite.new" "$1/azurite"
