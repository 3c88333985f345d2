#!/usr/bin/env bash
# The main job on a real cluster; make demo builds and starts what it needs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

exec go run ./test/demo
