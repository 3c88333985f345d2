#!/bin/sh
# Prints the directory that holds a usable go command. Any go >= 1.21 fetches
# the toolchain that go.mod asks for by itself; on a machine with an older one,
# or none, Debian's go downloads the pinned toolchain as a Go module.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/versions.env"

usable() {
	v=$("$1" env GOVERSION 2>/dev/null) || return 1
	v=${v#go1.}
	[ "${v%%.*}" -ge 21 ] 2>/dev/null
}

for go in "$(command -v go || true)" /usr/local/go/bin/go; do
	if [ -n "$go" ] && [ -x "$go" ] && usable "$go"; then
		dirname "$go"
		exit 0
	fi
done

root="${XDG_CACHE_HOME:-$HOME/.cache}/kubectl-dbop/go$GO_VERSION"
if [ ! -x "$root/bin/go" ]; then
	echo "No go >= 1.21 here: fetching go $GO_VERSION (about 70 MB)" >&2
	if ! command -v go >/dev/null; then
		apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq golang-go >&2
	fi
	arch=$(dpkg --print-architecture)
	dir=$(cd / && GOFLAGS=-modcacherw go mod download -json "golang.org/toolchain@v0.0.1-go$GO_VERSION.linux-$arch" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
	mkdir -p "$(dirname "$root")"
	rm -rf "$root.part"
	cp -r "$dir" "$root.part"
	chmod -R u+w "$root.part"
	chmod +x "$root.part"/bin/* "$root.part"/pkg/tool/*/*
	mv "$root.part" "$root"
fi
echo "$root/bin"
