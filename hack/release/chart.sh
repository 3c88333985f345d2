#!/usr/bin/env bash
# Renders the Helm chart (that of a release, or deploy/chart packed) and holds it against
# what 'kubectl dbop operator install' applies, in both modes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../environment.sh"
unset DBOP_REGISTRY # releases are for the public registry, whatever mirror this machine uses

chart=${1:-} helm=$root/bin/tools/helm
work=$(mktemp -d "${TMPDIR:-/tmp}/dbop-chart.XXXXXX")
trap 'rm -rf "$work"' EXIT
export HELM_CACHE_HOME=$work/cache HELM_CONFIG_HOME=$work/config HELM_DATA_HOME=$work/data
go build -o "$work/release" ./hack/release
go build -o "$work/tool" ./cmd/kubectl-dbop
if [ -z "$chart" ]; then
	"$work/release" chart --version v0.0.0 --created 2026-01-01T00:00:00Z --out "$work" deploy/chart
	chart=$work/dbop-operator-0.0.0.tgz
fi

image=registry.example.com/kubectl-dbop:v9
values=(--set image.repository=registry.example.com/kubectl-dbop --set image.tag=v9)
"$helm" lint --strict --quiet "$chart"

# same NAME HELM-ARGUMENTS -- TOOL-ARGUMENTS
same() {
	local name=$1 helm_args=()
	shift
	while [ "$1" != -- ]; do helm_args+=("$1") && shift; done
	shift
	"$helm" template operator "$chart" "${values[@]}" "${helm_args[@]}" >"$work/helm.yaml"
	"$work/tool" operator install --dry-run=client --image "$image" "$@" >"$work/tool.yaml"
	"$work/release" same "$work/helm.yaml" "$work/tool.yaml"
	echo "the chart says the same: $name"
}
same "all namespaces" --namespace dbop-system --
same "two namespaces" --namespace elsewhere --set 'watch={shop,bank}' --set replicas=3 -- --operator-namespace elsewhere --watch shop --watch bank --replicas 3

# What it does beyond that, and what it refuses.
"$helm" template operator "$chart" --set "image.digest=sha256:$(printf 'a0%.0s' {1..32})" --set 'imagePullSecrets={pull}' --set nodeSelector.disk=ssd \
	--set definitions=false --set resources.limits.memory=1Gi >"$work/helm.yaml"
for words in 'image: ghcr.io/dbop-dev/kubectl-dbop@sha256:a0a0' 'name: pull' 'disk: ssd' 'memory: 1Gi'; do
	grep -q "$words" "$work/helm.yaml" || { echo "FAIL: values of the chart have no effect: $words" >&2; exit 1; }
done
if grep -q '^kind: CustomResourceDefinition' "$work/helm.yaml"; then echo "FAIL: definitions=false leaves them in" >&2; exit 1; fi
for bad in replicas=0 image.digest=sha256:no watch=shop replica=2; do
	if "$helm" template operator "$chart" --set "$bad" >/dev/null 2>&1; then echo "FAIL: the chart takes $bad" >&2; exit 1; fi
done
