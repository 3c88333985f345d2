#!/usr/bin/env bash
# Measures the built plugin on the cluster; make bench builds and starts what
# it needs. Arguments go to the program, for example:
#   hack/bench.sh -only create -rounds 10
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

exec go run ./test/bench "$@"
