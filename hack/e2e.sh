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

timeout=25m
[ "${DBOP_TORTURE:-}" != all ] || timeout=4h

# On the local cluster a pod must run to its end on each node before the tests of an engine begin. Where it does not,
# nothing would pass: the cluster is made again, once, and says what was wrong.
local_cluster() { [ -z "${DBOP_E2E_KUBECONFIG:-}" ] && [ -x bin/cluster ]; }
pods() {
	local node
	for node in $(bin/cluster kubectl get nodes -o name); do
		cat <<-POD
			---
			apiVersion: v1
			kind: Pod
			metadata: {name: "${node#node/}"}
			spec:
			  nodeName: "${node#node/}"
			  restartPolicy: Never
			  containers:
			  - {name: try, image: "$DBOP_HELPER_IMAGE", imagePullPolicy: IfNotPresent, args: [version, --client]}
		POD
	done
}
try() {
	local code=0 space=e2e-try-$RANDOM
	local kubectl=(bin/cluster kubectl -n "$space")
	bin/cluster kubectl create namespace "$space" >/dev/null &&
		"${kubectl[@]}" wait --for=create serviceaccount/default --timeout=60s >/dev/null &&
		pods | "${kubectl[@]}" create -f - >/dev/null &&
		"${kubectl[@]}" wait pod --all --for=jsonpath='{.status.phase}'=Succeeded --timeout=90s >/dev/null || code=1
	[ "$code" = 0 ] || bin/cluster kubectl get nodes,pods,events -A -o wide >&2 || true
	bin/cluster kubectl delete namespace "$space" --ignore-not-found --wait=false >/dev/null || code=1
	return $code
}
ready() {
	local_cluster || return 0
	if bin/cluster up >/dev/null && try; then return 0; fi
	echo "cluster: no pod runs on each of its nodes; it is made again" >&2
	bin/cluster status >&2 || true
	df -h / >&2
	free -m >&2
	tail -n 30 /var/lib/dbop-cluster/logs/*.log >&2 || true
	bin/cluster down && DBOP_BIN=$root/bin/kubectl-dbop hack/cluster-up.sh && try
}

# What ended of the control plane meanwhile, and why: a test that failed then tells of Kubernetes.
kept() {
	local log=/var/lib/dbop-cluster/logs/keeper.log
	if local_cluster && [ -s "$log" ]; then cat "$log"; fi
}

code=0
# shellcheck disable=SC2231 # ENGINE may be unset: all of them
for folder in test/e2e/${ENGINE:-*}/; do
	ls "$folder"*_test.go >/dev/null 2>&1 || continue # what tests share has none
	ready || code=1
	go test -vet=off -ldflags=-w -tags e2e "./$folder" -count=1 -v -timeout "$timeout" -parallel "${DBOP_E2E_PARALLEL:-3}" "$@" || code=1
	kept
done
exit $code
