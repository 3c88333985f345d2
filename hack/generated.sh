#!/usr/bin/env bash
# Fails if a fresh generation differs from what is in the tree.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

made=(pkg/api deploy docs/reference docs/modules.txt)
state() { git status --porcelain -- "${made[@]}"; git diff -- "${made[@]}"; }
before=$(state)
make generate
if [ "$before" != "$(state)" ]; then
	git diff --stat -- "${made[@]}"
	echo "FAIL: what is generated is not up to date, run make generate"
	exit 1
fi
