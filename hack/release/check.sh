#!/usr/bin/env bash
# make release-check: a snapshot of a release from a clean clone of this
# commit, everything in it checked, installed and run; a second one that must
# be the same to the byte; and faults, each of which must be noticed. Nothing is
# published, pushed or signed, and no image is built.
# DBOP_RELEASE_COLD=1 makes the second one with an empty build cache.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../environment.sh"
unset DBOP_REGISTRY # releases are for the public registry, whatever mirror this machine uses

tools=$root/bin/tools kubectl=${KUBECTL:-${XDG_CACHE_HOME:-$HOME/.cache}/dbop-cluster/bin/kubectl}
work=$(mktemp -d "${TMPDIR:-/tmp}/dbop-release.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
[ -z "$(git status --porcelain)" ] || echo "note: only what is committed is released; this tree has more"

say() { echo "== $* ($SECONDS s)"; }
die() { echo "FAIL: $*" >&2; exit 1; }

# snapshot TREE clones this commit, makes a release of it, and shows what it does.
snapshot() {
	git clone --quiet --no-hardlinks "$root" "$1"
	mkdir -p "$1/bin" && ln -s "$tools" "$1/bin/tools"
	(cd "$1" && "$tools/goreleaser" check && "$tools/goreleaser" release --snapshot --clean --skip=publish,sign,docker --parallelism "$(nproc)") \
		2>&1 | tee "$1.log" | sed -u "s/^/[${1##*/}] /" || die "the snapshot failed"
	"$1/bin/release/release" manifest --source "$1" --dist "$1/dist" --manifests "$1/bin/release/manifests" --out "$1/dist/dbop.yaml"
}

# check TREE MANIFEST judges a release.
check() {
	"$work/one/bin/release/release" check --source "$1" --dist "$1/dist" --manifests "$1/bin/release/manifests" "$2"
}

# published lists what people download, with its sum.
published() { (cd "$1" && find dist bin/release/manifests -maxdepth 1 -type f ! -name 'artifacts.json' ! -name 'metadata.json' ! -name 'config.yaml' -exec sha256sum {} + | sort -k2); }

say "a snapshot"
snapshot "$work/one"
# The second one is made while the first is checked. Nearly all that it compiles is in the build cache.
say "the second snapshot begins"
(
	[ -z "${DBOP_RELEASE_COLD:-}" ] || export GOCACHE="$work/cache"
	snapshot "$work/two"
) >"$work/two.out" 2>&1 &
second=$!

say "what is in the first"
check "$work/one" "$work/one/dist/dbop.yaml"
if [ -d "$work/one/deploy/chart" ]; then
	hack/release/chart.sh "$work/one"/bin/release/manifests/*.tgz
fi

say "installed as krew does, and run by kubectl"
"$work/one/bin/release/release" install --dist "$work/one/dist" --out "$work/krew" "$work/one/dist/dbop.yaml"
here=$(go env GOOS)_$(go env GOARCH)
tar -xzf "$work/one"/dist/kubectl-dbop_*_"$here".tar.gz -C "$work/krew/bin" --strip-components=1 completions/kubectl_complete-dbop
chmod +x "$work/krew/bin/kubectl_complete-dbop"
# What grep searches is read to its end: grep -q would leave at the
# first match, and who still writes fail by SIGPIPE.
# person runs kubectl as somebody who has just that plugin, and no cluster.
# kubectl plugin list fails where another directory of the PATH has it, too.
person() { env -i HOME="$work/home" PATH="$work/krew/bin" "$kubectl" "$@"; }
version=$(sed -n 's/^  version: //p' "$work/one/dist/dbop.yaml")
[ "$(person dbop version --client)" = "Client Version: $version" ] || die "kubectl dbop version --client is not $version"
person dbop --help | grep >/dev/null '^Usage:' || die "kubectl dbop --help prints no usage"
person plugin list | grep >/dev/null "^$work/krew/bin/kubectl-dbop$" || die "kubectl plugin list does not show it"
person __complete dbop upgr | grep >/dev/null '^upgrade' || die "kubectl does not complete 'dbop upgr'"

if command -v dpkg-deb >/dev/null; then
	say "the package of this machine"
	dpkg-deb -x "$work/one"/dist/kubectl-dbop_*_"$here".deb "$work/deb"
	[ "$("$work/deb/usr/bin/kubectl-dbop" version --client)" = "Client Version: $version" ] || die "what the package installs is not $version"
	! grep -q DBOP_TEST_DIE_AT "$work/deb/usr/bin/kubectl-dbop" || die "the released binary has the fail points of the tests"
	"$work/deb/usr/bin/kubectl_complete-dbop" upgr | grep >/dev/null '^upgrade' || die "the package does not complete"
	for file in bash-completion/completions/kubectl-dbop zsh/site-functions/_kubectl-dbop fish/vendor_completions.d/kubectl-dbop.fish \
		man/man1/kubectl-dbop.1 man/man1/kubectl-dbop-upgrade.1 doc/kubectl-dbop/copyright; do
		[ -s "$work/deb/usr/share/$file" ] || [ -s "$work/deb/usr/share/$file.gz" ] || die "the package has no $file"
	done
fi

say "the second snapshot is the same"
wait $second || { cat "$work/two.out" >&2; die "the second snapshot failed"; }
diff <(published "$work/one") <(published "$work/two") || die "two builds of one commit differ"
rm -rf "$work/two" "$work/cache"

# fault NAME WORDS COMMAND... must fail and say why.
fault() {
	local name=$1 words=$2 said
	shift 2
	if said=$("$@" 2>&1); then die "nobody noticed: $name"; fi
	grep -qF -- "$words" <<<"$said" || die "$name was noticed for another reason: $said"
	echo "noticed: $name"
}
# seeded copies the release, to do harm to.
seeded() { rm -rf "$work/bad" && cp -a "$work/one" "$work/bad"; }

say "faults"
seeded
manifest=$work/bad/dist/dbop.yaml
sed -i '0,/sha256: .*/s//sha256: ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff/' "$manifest"
fault "a wrong sha256" "the krew manifest says sha256 ffff" check "$work/bad" "$manifest"

seeded
archive=$(basename "$work/bad"/dist/*_linux_amd64.tar.gz)
(cd "$work/bad/dist" && mkdir x && tar -xzf "$archive" -C x && rm x/LICENSE && tar -czf "$archive" -C x . &&
	sum=$(sha256sum "$archive") && sed -i "s/^[0-9a-f]*  $archive\$/$sum/" checksums.txt)
"$work/one/bin/release/release" manifest --source "$work/bad" --dist "$work/bad/dist" --out "$manifest"
fault "a missing LICENSE" "LICENSE is missing" check "$work/bad" "$manifest"

seeded
sed -i '0,/arch: arm64/s//arch: amd64/' "$manifest"
fault "overlapping platforms" "both match darwin/amd64" check "$work/bad" "$manifest"

seeded
sed -i 's/goarch: \[amd64, arm64\]/goarch: [amd64]/' "$work/bad/.goreleaser.yaml"
fault "a platform in one file only" "goreleaser builds for [darwin/amd64 linux/amd64 windows/amd64]" check "$work/bad" "$manifest"

seeded
sed -i 's/formats: \[tar.gz\]/format: tar.gz/' "$work/bad/.goreleaser.yaml"
fault "a deprecated key of goreleaser" "archives.format" env -C "$work/bad" "$tools/goreleaser" check

seeded
echo "a line by hand" >>"$work/bad/docs/reference/README.md"
git -C "$work/bad" -c user.name=nobody -c user.email=nobody@example.com commit --quiet --all --message "A stale file"
fault "a stale generated file" "what is generated is not up to date" "$work/bad/hack/generated.sh"
rm -rf "$work/bad"
"$work/one/hack/generated.sh" >/dev/null 2>&1 || die "what is generated is not up to date"

say "a tag that is no version"
fault "a tag that is no version" 'version "v1.2" is not semver' "$work/one/bin/release/release" version v1.2
say "release-check passed: $version"
