#!/usr/bin/env bash
# Makes docs/upgrade.svg from a real run on the cluster of the tests: a plan of
# an upgrade, and the upgrade in progress. make picture runs it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

kubeconfig=${DBOP_E2E_KUBECONFIG:-/var/lib/dbop-cluster/kubeconfig}
work=$(mktemp -d "${TMPDIR:-/tmp}/dbop-picture.XXXXXX")
cp "$kubeconfig" "$work/kubeconfig"
go build -o "$work/picture" ./hack/picture
export KUBECONFIG=$work/kubeconfig HOME=$work
kubectl=${KUBECTL:-kubectl} ns=shop
"$kubectl" create namespace "$ns" >/dev/null
trap '"$kubectl" delete namespace "$ns" --wait=false >/dev/null; rm -rf "$work"' EXIT
"$kubectl" label namespace "$ns" pod-security.kubernetes.io/enforce=restricted >/dev/null
"$kubectl" config set-context --current --namespace "$ns" >/dev/null

"$DBOP_BIN" create my-db --engine etcd --version 3.6 --storage 512Mi --progress none >/dev/null
# typed WORDS... shows a command and what came of it, as a terminal does.
typed() {
	printf '\033[1m$ kubectl dbop %s\033[0m\n' "$*"
	"$DBOP_BIN" "$@" --color always 2>&1
}
# in_progress is the picture of a moment: without the lines about waiting, which
# on a terminal are one line that changes, up to the second restart.
in_progress() { awk '/^\[5\// {last = 1} !/^(waiting|still):/ {print} last && /^waiting:/ {print; exit}'; }
typed plan upgrade my-db --version 3.7 >"$work/screen"
echo >>"$work/screen"
typed upgrade my-db --version 3.7 >"$work/upgrade"
in_progress <"$work/upgrade" >>"$work/screen"
# Names of this machine's directories are nobody's business.
sed "s#$work#~#g" "$work/screen" | "$work/picture" >docs/upgrade.svg
echo "docs/upgrade.svg"
