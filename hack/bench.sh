#!/usr/bin/env bash
# Measures the built plugin on the cluster; make bench builds and starts what
# it needs. Arguments go to the program, for example:
#   hack/bench.sh -only create -rounds 10
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

# kubectl as it is released: the local cluster's is one program with all of Kubernetes in it.
if [ -z "${DBOP_BENCH_KUBECTL:-}" ] && [ -z "${DBOP_E2E_KUBECONFIG:-}" ]; then
	export DBOP_BENCH_KUBECTL="$root/bin/bench-kubectl"
	(cd hack/cluster/components && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$DBOP_BENCH_KUBECTL" k8s.io/kubernetes/cmd/kubectl)
fi
[ -n "${DBOP_E2E_KUBECONFIG:-}" ] || hack/bench-images.sh
exec go run ./test/bench "$@"
