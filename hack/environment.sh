# Sourced by the scripts here: where things are, and a usable go on the PATH.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
PATH="$(hack/go.sh):$PATH"
export PATH GOFLAGS=-buildvcs=false CGO_ENABLED=0
# The cluster that tests and demo use: the caller's, or the local one.
export DBOP_BIN="${DBOP_BIN:-$root/bin/kubectl-dbop}"
if [ -z "${DBOP_E2E_KUBECONFIG:-}" ]; then
	export DBOP_REGISTRY="${DBOP_REGISTRY:-dbop.test}"
	export DBOP_HELPER_IMAGE="${DBOP_HELPER_IMAGE:-dbop.test/dbop-dev/kubectl-dbop:dev}"
	export DBOP_NEWER_IMAGE="${DBOP_NEWER_IMAGE:-$DBOP_HELPER_IMAGE-newer}"
	export DBOP_STORE_IMAGE="${DBOP_STORE_IMAGE:-dbop.test/dbop-dev/versitygw:dev}"
fi
