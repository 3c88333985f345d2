#!/usr/bin/env bash
# What a release holds beside the programs, made from this tree into
# bin/release. goreleaser runs it: hack/release/prepare.sh VERSION DATE
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../environment.sh"
unset DBOP_REGISTRY # releases are for the public registry, whatever mirror this machine uses

version=${1:?the version, with its v} date=${2:?the date of the commit}
out=$root/bin/release
rm -rf "$out"
mkdir -p "$out"/{completions,man,manifests}
go build -trimpath -o "$out/release" ./hack/release
"$out/release" version "$version" # a tag that is no version ends here

CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$version" -o "$out/kubectl-dbop" ./cmd/kubectl-dbop
for shell in bash zsh fish powershell; do
	"$out/kubectl-dbop" completion $shell >"$out/completions/kubectl-dbop.${shell/powershell/ps1}"
done
# kubectl calls this one; krew can't install it.
"$out/kubectl-dbop" completion kubectl >"$out/completions/kubectl_complete-dbop"
"$out/kubectl-dbop" reference --man --dir "$out/man"
"$out/kubectl-dbop" operator install --dry-run=client --image "ghcr.io/dbop-dev/kubectl-dbop:$version" >"$out/manifests/install.yaml"
cp deploy/crd/*.yaml "$out/manifests/"
if [ -d deploy/chart ]; then
	"$out/release" chart --version "$version" --created "$date" --out "$out/manifests" deploy/chart
fi
