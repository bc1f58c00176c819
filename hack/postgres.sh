#!/usr/bin/env bash
# Prints the directory of PostgreSQL's server programs, the newest version if
# there are several. Where there is none, Debian's package is installed first.
set -euo pipefail

newest() { { ls -d /usr/lib/postgresql/*/bin 2>/dev/null || true; } | sort -V | tail -1; }

bin=$(newest)
if [[ -z $bin ]] && command -v initdb >/dev/null; then
	bin=$(dirname "$(readlink -f "$(command -v initdb)")")
fi
if [[ -z $bin ]]; then
	# Its own cluster is not wanted: the tests make theirs.
	install -d /etc/postgresql-common
	echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
	{ apt-get update -q && apt-get install -y -q --no-install-recommends postgresql; } >&2
	bin=$(newest)
fi
echo "$bin"
