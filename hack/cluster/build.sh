#!/usr/bin/env bash
# Puts everything that a one-node cluster is made of into a folder:
#
#   build.sh DIR
#
# What hack/kube builds, the rest of Kubernetes and CoreDNS are kept where
# hack/kube keeps its programs ($HOOKPOLICY_KUBE_CACHE, by default hookpolicy/kube
# in the user's cache folder), under a hash of what they are built from, and are
# not built twice: DIR gets links to them. The small programs beside this script
# are built into DIR. Debian's packages bring the container runtime.
set -euo pipefail
dir=$(mkdir -p "$1/images" && cd "$1" && pwd)
cd "$(dirname "$0")"
. ./settings.sh

main() {
	install_packages
	ln -sf "$(../kube/build.sh)"/{etcd,kube-apiserver,kubectl} "$dir/"
	# Ours, with the project's own flags: what they share with it is compiled already.
	go -C ../.. build -o "$dir/" ./hack/cluster/pki ./hack/cluster/volumes

	# The settings of whoever calls are not meant for the others.
	export GOFLAGS=-mod=readonly CGO_ENABLED=0 GOWORK=off
	local program flags
	flags="-s -w$(stamp)"
	for program in kube-controller-manager kube-scheduler kubelet kube-proxy; do
		build node "$program" "k8s.io/kubernetes/cmd/$program" -tags grpcnotrace -ldflags "$flags"
	done
	build dns coredns . -ldflags "-s -w"
	go build -trimpath -ldflags "-s -w" -o "$dir/pause" ./pause
	go -C ../mkimage run . -o "$dir/images/pause.tar" -t "$PAUSE_IMAGE" -entrypoint /pause "$dir/pause:/pause" >/dev/null
}

install_packages() {
	local package missing=()
	for package in "${PACKAGES[@]}"; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return
	echo "Installing ${missing[*]} ..." >&2
	apt-get update -qq >&2
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

# build MODULE NAME PACKAGE FLAG... builds a program of a module in a folder of
# this one, unless it is there, and links to it.
build() {
	local module=$1 name=$2 package=$3 started=$SECONDS key bin
	shift 3
	key=$(printf '%s\0' "$@" | cat - "$module"/* <(go env GOVERSION GOOS GOARCH) | sha256sum | cut -c1-16)
	bin=${HOOKPOLICY_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hookpolicy/kube}/$module-$key
	mkdir -p "$bin"
	exec 9>"$bin/.lock"
	flock 9 # two runs at once build once
	if [ ! -x "$bin/$name" ]; then
		echo "Building $name for the cluster ..." >&2
		go -C "$module" build -trimpath "$@" -o "$bin/.$name" "$package"
		mv "$bin/.$name" "$bin/$name" # whole or not at all
		echo "Built $name in $((SECONDS - started)) s" >&2
	fi
	ln -sf "$bin/$name" "$dir/"
}

# stamp prints what makes Kubernetes' programs report their version.
stamp() {
	local version major minor p
	version=$(go -C node list -m -f '{{.Version}}' k8s.io/kubernetes)
	IFS=. read -r major minor _ <<<"${version#v}"
	for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		printf ' -X %s=%s' "$p.gitVersion" "$version" "$p.gitMajor" "$major" "$p.gitMinor" "$minor" \
			"$p.gitTreeState" clean "$p.buildDate" 1970-01-01T00:00:00Z
	done
}

main
