#!/usr/bin/env bash
# Starts the local cluster, or finds it running, and loads the image of the
# product just built. With DBOP_E2E_KUBECONFIG set, that cluster is used and
# nothing is started.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

if [ -n "${DBOP_E2E_KUBECONFIG:-}" ]; then
	echo "Using the cluster of $DBOP_E2E_KUBECONFIG"
	[ -n "${DBOP_HELPER_IMAGE:-}" ] ||
		echo "note: DBOP_HELPER_IMAGE is not set; its nodes must be able to pull the default image" >&2
	exit 0
fi
(cd hack/cluster && go build -o "$root/bin/cluster" .)
bin/cluster up
# Under a second name too: a test gives it to members that run the first.
for name in "$DBOP_HELPER_IMAGE" "$DBOP_NEWER_IMAGE"; do
	bin/cluster image --binary "$DBOP_BIN" --binary bin/dbop-agent --name "$name"
done
# The object store of tests and demo, if make stores has built it.
store="${XDG_CACHE_HOME:-$HOME/.cache}/dbop-stores/versitygw"
[ ! -x "$store" ] || bin/cluster image --binary "$store" --name "$DBOP_STORE_IMAGE"
