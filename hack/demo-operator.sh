#!/usr/bin/env bash
# The operator's main job on a real cluster, with kubectl as a person uses it;
# make demo-operator builds and starts what it needs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

export KUBECONFIG="${DBOP_E2E_KUBECONFIG:-/var/lib/dbop-cluster/kubeconfig}"
if [ -z "${DBOP_E2E_KUBECONFIG:-}" ]; then
	PATH="${XDG_CACHE_HOME:-$HOME/.cache}/dbop-cluster/bin:$PATH"
fi
ns=dbop-demo-$$
times=$(mktemp)

dbop() { "$DBOP_BIN" -n "$ns" "$@"; }
k() { kubectl -n "$ns" "$@"; }

# step TITLE COMMAND... runs a command and notes how long it took.
step() {
	local title=$1 from=$EPOCHREALTIME
	shift
	printf '\n== %s\n' "$title"
	"$@"
	printf '%-64s %8.1f s\n' "$title" "$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}')" >>"$times"
}

# until_true SECONDS WHAT COMMAND... waits until a command succeeds.
until_true() {
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			echo "not within the time allowed: $what" >&2
			k describe dbc >&2 || true
			exit 1
		fi
		sleep 0.5
	done
}

# ready NAME MEMBERS waits until what is wanted is so.
ready() {
	until_true 300 "$1 with $2 members" is_ready "$1" "$2"
	k get dbc "$1"
}

is_ready() {
	[ "$(k get dbc "$1" -o jsonpath='{.metadata.generation} {.status.observedGeneration} {.status.conditions[?(@.type=="Ready")].status} {.status.members}')" = \
		"$(k get dbc "$1" -o jsonpath='{.metadata.generation} {.metadata.generation}') True $2" ]
}

cluster() {
	cat <<EOF
apiVersion: dbop.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: $1, namespace: $ns}
spec:
  engine: etcd
  version: $2
  members: $3
  storage: {size: 512Mi}
  registry: "${DBOP_REGISTRY:-}"
  deletionPolicy: Purge
  backup: {repository: "pvc:backups", schedule: "0 3 * * *", timeZone: Etc/UTC, keep: 3}
$4
EOF
}

create() {
	until_true 60 "the kind to be served" apply "$@"
	ready "$1" "$3"
}

apply() { cluster "$@" | kubectl apply -f -; }

# again applies the same manifest once more: nothing may differ.
again() {
	cluster "$@" | kubectl diff -f -
	[[ $(apply "$@") == *" unchanged" ]]
}

# scheduled has the CronJob do now what it does each night.
scheduled() {
	until_true 60 "the CronJob" k get cronjob my-db-backup
	k create job --from=cronjob/my-db-backup my-db-backup-now
	k wait --for=condition=Complete --timeout=180s job/my-db-backup-now
	until_true 60 "status to tell of it" told
	k get dbc my-db -o jsonpath='{.status.conditions[?(@.type=="BackupHealthy")].message}{"\n"}'
}

told() { k get dbc my-db -o jsonpath='{.status.conditions[?(@.type=="BackupHealthy")].status}' | grep True; }

lose() {
	k delete pvc "$1" --wait=false
	k delete pod "$1-0" --wait=false
	until_true 180 "$1 to be replaced" healed
	ready my-db 3
}

healed() { dbop history my-db | grep -E 'replace-member +Succeeded'; }

scale() { k scale dbc/my-db "--replicas=$1" && ready my-db "$1"; }

patch() { k patch dbc my-db --type merge -p "$1" && ready my-db 5; }

verified() {
	k apply -f - <<EOF
apiVersion: dbop.dev/v1alpha1
kind: DatabaseBackup
metadata: {name: my-backup}
spec: {cluster: my-db, verify: true}
EOF
	k wait --for=condition=Ready --timeout=180s dbb/my-backup
	k get dbb my-backup
}

restored() {
	create my-copy 3.7.3 1 "  restoreFrom: {repository: \"pvc:backups\", backup: $(k get dbb my-backup -o jsonpath='{.status.backup}')}"
	[ "$(dbop connect my-copy -- get --print-value-only greeting)" = hello ]
}

gone() { k delete dbc --all && until_true 180 "both to go" none_left; }

none_left() { [ -z "$(k get pods -l app.kubernetes.io/component=database -o name)" ]; }

clean() {
	"$DBOP_BIN" operator uninstall --yes --operator-namespace "$ns" --watch "$ns" >/dev/null 2>&1 || true
	kubectl delete namespace "$ns" --wait=false >/dev/null 2>&1 || true
	rm -f "$times"
}
trap clean EXIT

kubectl create namespace "$ns"
kubectl label namespace "$ns" pod-security.kubernetes.io/enforce=restricted >/dev/null
k apply -f - <<EOF
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: backups}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 512Mi}}}
EOF

step "install the operator" "$DBOP_BIN" operator install --operator-namespace "$ns" --watch "$ns"
step "three members from a manifest" create my-db 3.6.16 3 ""
dbop connect my-db -- put greeting hello
step "the same manifest again, and kubectl diff" again my-db 3.6.16 3 ""
step "a member loses pod and volume, and is replaced" lose my-db-2
step "kubectl scale to five members" scale 5
step "kubectl patch: version 3.7.3, after a backup" patch '{"spec":{"version":"3.7.3"}}'
step "kubectl patch: volumes of 768Mi" patch '{"spec":{"storage":{"size":"768Mi"}}}'
step "the nightly backup, now" scheduled
step "a DatabaseBackup: taken, restored and compared" verified
step "a second cluster from it" restored
step "delete both" gone

printf '\nTimes:\n'
cat "$times"
