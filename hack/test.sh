#!/usr/bin/env bash
# make test: everything, from an empty machine, in a time that is printed at
# the end. Every phase writes a log; what go test says of its tests is shown as
# it happens, the log of a failed phase in full at the end. After
# DBOP_TEST_LIMIT seconds what still runs is ended, and named.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

logs=$(mktemp -d "${TMPDIR:-/tmp}/dbop-test.XXXXXX")
began=$SECONDS
limit=${DBOP_TEST_LIMIT:-5250}
# Where there is much memory, the cluster of the tests lives in it: a disk that others keep busy stalls its members for
# seconds, and no test is about that. make bench, make demo and make torture start theirs on the disk.
memory=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
if [ -z "${DBOP_CLUSTER_MEMORY+set}" ] && [ "$memory" -ge 18 ]; then export DBOP_CLUSTER_MEMORY=$((memory / 2))g; fi
# What is worth seeing while it runs: verdicts, not chatter.
verdicts='^(ok|FAIL|---|    ---|panic:|\?|make: \*\*\*|seed|[0-9]+ issues)|no test files|^cluster:|^ready'

# phase NAME COMMAND... runs one phase to its end, or to that of the time there is. Go tells of a SIGQUIT what it did.
phase() {
	local name=$1 from=$SECONDS code=0 left=$((limit - SECONDS))
	shift
	echo "== $name: $*"
	timeout -s QUIT -k 20 "$((left > 0 ? left : 1))" "$@" </dev/null >"$logs/$name.log" 2>&1 &
	local pid=$!
	tail --pid="$pid" -n +1 -s 0.5 -f "$logs/$name.log" 2>/dev/null |
		grep --line-buffered -E "$verdicts" | grep --line-buffered -v 'no test files' | sed -u "s/^/[$name] /" || true
	wait "$pid" || code=$?
	echo "$name $((SECONDS - from)) $code" >>"$logs/phases"
	echo "== $name: $([ $code = 0 ] && echo passed || echo "FAILED ($code)") after $((SECONDS - from)) s"
	return $code
}

# beside NAME... waits for phases that run side by side.
beside() {
	local code=0 pid
	for pid in "$@"; do wait "$pid" || code=1; done
	return $code
}

# engines are the folders of end-to-end tests; what those share has none.
engines() { ls test/e2e/*/*_test.go | cut -d/ -f3 | sort -u; }

summary() {
	local name seconds code
	echo
	grep -hE '^(ok|FAIL)[[:space:]]' "$logs"/*.log || true
	printf 'tests passed: %s, failed: %s, skipped: %s\n' "$(count PASS)" "$(count FAIL)" "$(count SKIP)"
	grep -hB1 -E '^ *--- SKIP:' "$logs"/*.log | grep -v '^--$' || true # each with its reason
	echo
	slowest
	echo
	echo "Where the time went:"
	printf '%-16s %8s  %s\n' PHASE SECONDS RESULT
	while read -r name seconds code; do
		printf '%-16s %8s  %s\n' "$name" "$seconds" "$([ "$code" = 0 ] && echo passed || echo "FAILED ($code)")"
	done <"$logs/phases"
	printf '%-16s %8s\n' total "$((SECONDS - began))"
	unfinished
	reasons
}

# reasons is what each failed test said last: of a long output, some keep the end alone. Of each of the last four
# entries of its log, the first lines and the last ones are shown: a command begins with what it was to do, and ends with
# why it failed.
reasons() {
	awk '/^=== (RUN|CONT|NAME|PAUSE) / { test = $3; next }
		/^ *--- (PASS|FAIL|SKIP): / { test = $3; if ($2 == "FAIL:") { order[++failed] = test; took[test] = $4 }; next }
		/^(ok|FAIL)[ \t]/ {
			for (i = 1; i <= failed; i++) {
				name = order[i]
				print "--- FAIL: " name " " took[name]
				for (k = n[name] - 3; k <= n[name]; k++) for (l = 1; l <= lines[name, k]; l++)
					if (l <= 3 || l > lines[name, k] - 8) print said[name, k, l]
			}
			delete said; delete lines; delete n; failed = 0; test = ""; next
		}
		/^ *[a-z_0-9]+\.go:[0-9]+: |^panic: / { n[test]++ }
		n[test] { said[test, n[test], ++lines[test, n[test]]] = substr($0, 1, 300) }' "$logs"/*.log
}

# unfinished names the tests that were still running when the time was over.
unfinished() {
	[ "$((SECONDS - began))" -ge "$limit" ] || return 0
	echo "The $limit seconds of this run are over; tests that had not ended:"
	awk '/^=== RUN/ { began[$3] = 1 } /^ *--- (PASS|FAIL|SKIP): / { delete began[$3] }
		END { for (test in began) print "  " test }' "$logs"/*.log | sort
}

# slowest names the ten tests that took longest. A test whose subtests run in
# parallel takes no time itself: its subtests stand for it.
slowest() {
	echo "The ten slowest tests:"
	awk '/^(    )?--- (PASS|FAIL): / {
		seconds = $4; gsub(/[()s]/, "", seconds); split($3, path, "/")
		if (!/^ /) whole[$3] = seconds + 0
		if (!/^ / || whole[path[1]] == 0) printf "%8.1f s  %s\n", seconds, $3
	}' "$logs"/*.log | sort -rn | sed -n '1,10p' # head would break the pipe
}

count() { cat "$logs"/*.log | grep -cE "^ *--- $1:" || true; }

failed() {
	local name seconds code
	while read -r name seconds code; do
		[ "$code" = 0 ] && continue
		echo
		echo "===== $name failed; its log ($logs/$name.log):"
		if [ "$(wc -l <"$logs/$name.log")" -gt 1500 ]; then
			grep -nE '^ *--- FAIL|panic:' "$logs/$name.log" || true
			tail -n 1500 "$logs/$name.log"
		else
			cat "$logs/$name.log"
		fi
	done <"$logs/phases"
}

: >"$logs/phases"
failures=0
if phase build make build failpoint "$root/bin/cluster"; then
	# Starting a cluster is mostly waiting; what needs none fills the time.
	# The store of the tests is loaded into the cluster as an image.
	phase cluster make stores cluster-up &
	cluster=$!
	phase unit hack/in-memory.sh make unit GOFLAGS='-buildvcs=false -v' &
	unit=$!
	if beside $cluster; then
		beside $unit || failures=1
		lint=
		for engine in $(engines); do
			# It takes all processors for minutes, so it runs beside tests that have no bounds in seconds.
			if [ "$engine" = objectstore ]; then
				phase lint make lint &
				lint=$!
			fi
			phase "e2e-$engine" env -u DBOP_BIN ENGINE="$engine" hack/e2e.sh || failures=1
		done
		# These ask a real API server, and skip where none is named, as in unit.
		phase kube env DBOP_E2E_KUBECONFIG="${DBOP_E2E_KUBECONFIG:-/var/lib/dbop-cluster/kubeconfig}" \
			go test -vet=off -ldflags=-w -count=1 -v -run TestRealCluster ./pkg/kube || failures=1
		beside $lint || failures=1
	else
		failures=1
		beside $unit || true
		phase lint make lint || true
	fi
	phase agents make agents GOFLAGS='-buildvcs=false -v' || failures=1
	phase harness go test -vet=off -ldflags=-w -v ./test/harness/... || failures=1
	# The components are Kubernetes itself; they have no tests of ours.
	phase hack bash -c 'cd hack/cluster && go test -vet=off -ldflags=-w $(go list ./... | grep -v /components)' || failures=1
	phase generate hack/generated.sh || failures=1
else
	failures=1
fi
# The end is what is read first of a long output.
[ "$failures" = 0 ] || failed
summary
if [ "$failures" != 0 ]; then
	echo
	echo "make test: FAILED"
else
	rm -rf "$logs"
fi
exit "$failures"
