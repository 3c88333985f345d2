#!/usr/bin/env bash
# The tests on a real cluster. Arguments go to go test, for example:
#   hack/e2e.sh -run 'TestUpgrade'
# ENGINE=etcd runs the tests of that engine alone.
# DBOP_TORTURE=all kills the tool at every fail point instead of at a seeded
# selection, and writes docs/reliability.md. DBOP_SEED chooses another
# selection; DBOP_SEED=any draws one, and says which.
set -euo pipefail
fixed=${DBOP_BIN:-}
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
# The binary that the tests start can be told to die at a step; the image can't.
export DBOP_BIN="${fixed:-$root/bin/failpoint/kubectl-dbop}"

timeout=60m
[ "${DBOP_TORTURE:-}" != all ] || timeout=4h
exec go test -tags e2e "./test/e2e/${ENGINE:+$ENGINE/}..." -p 1 -count=1 -v -timeout "$timeout" -parallel "${DBOP_E2E_PARALLEL:-3}" "$@"
