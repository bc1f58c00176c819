#!/usr/bin/env bash
# Runs every fuzz target for a while each: hack/fuzz.sh [TIME, default 10s].
# FUZZ_PACKAGES limits it to some packages.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}

grep -rlE '^func Fuzz' --include='*_test.go' ${FUZZ_PACKAGES:-internal api cmd} | xargs -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | cut -c6- | sort -u | while read -r target; do
		echo "== $dir $target"
		go test "./$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null
	done
done
