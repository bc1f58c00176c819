#!/usr/bin/env bash
# Builds the image and its list of parts once more, from a copy of the tracked
# files in another place and with an empty build cache, and compares the bytes
# with those in dist. Arguments: the version and the image's name.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1 image=$2

copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/source" "$copy/cache"
git ls-files -z | tar --null -T - -c | tar -x -C "$copy/source"

umask 077 # nothing may depend on it
TZ=Pacific/Auckland GOCACHE="$copy/cache" make -C "$copy/source" sbom VERSION="$version" IMAGE="$image" >/dev/null

for file in hookpolicy.tar hookpolicy.cdx.json; do
	cmp "dist/$file" "$copy/source/dist/$file"
	sha256sum "dist/$file"
done
echo "the same bytes"
