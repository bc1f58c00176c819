#!/usr/bin/env bash
# Builds the Kubernetes API server that the tests run against, with etcd and
# kubectl, from their Go modules, and prints the folder that holds the programs.
# Run from anywhere:
#
#   export KUBEBUILDER_ASSETS=$(hack/kube/build.sh)
#
# The folder is outside the checkout, in $HOOKPOLICY_KUBE_CACHE (default:
# hookpolicy/kube in the user's cache folder). Its name is a hash of what the
# programs are built from, so that another version gets another folder. What is
# there already is not built again. From nothing it takes several minutes, once.
set -euo pipefail
cd "$(dirname "$0")"

cache=${HOOKPOLICY_KUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hookpolicy/kube}
# The settings of whoever calls are not meant for these programs.
export GOFLAGS=-mod=readonly CGO_ENABLED=0 GOWORK=off
key=$(cat go.mod go.sum build.sh <(go env GOVERSION GOOS GOARCH) | sha256sum | cut -c1-16)
bin=$cache/$key

build() {
	local name=$1 package=$2 started=$SECONDS
	[ -x "$bin/$name" ] && return
	echo "Building $name of Kubernetes $version for the tests ..." >&2
	go build -trimpath -tags grpcnotrace -ldflags "-s -w $(stamp)" -o "$bin/.$name" "$package"
	mv "$bin/.$name" "$bin/$name" # whole or not at all
	echo "Built $name in $((SECONDS - started)) s" >&2
}

# stamp prints what makes the programs report their version.
stamp() {
	local major minor p
	IFS=. read -r major minor _ <<<"${version#v}"
	for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
		echo "-X $p.gitVersion=$version -X $p.gitMajor=$major -X $p.gitMinor=$minor" \
			"-X $p.gitTreeState=clean -X $p.buildDate=1970-01-01T00:00:00Z"
	done | tr '\n' ' '
}

mkdir -p "$bin"
exec 9>"$bin/.lock"
flock 9 # two runs at once build once
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kubectl k8s.io/kubernetes/cmd/kubectl
echo "$bin"
