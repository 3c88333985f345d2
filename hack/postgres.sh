#!/bin/sh
# Installs the PostgreSQL that tests of the agent run, from Debian's packages, and makes no database with it.
set -eu
. "$(dirname "$0")/versions.env"
if [ -x "/usr/lib/postgresql/$POSTGRES_MAJOR/bin/initdb" ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "PostgreSQL $POSTGRES_MAJOR is not here, and apt-get neither: install it in /usr/lib/postgresql" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
apt-get update -qq
apt-get install -y -qq --no-install-recommends "postgresql-$POSTGRES_MAJOR"
