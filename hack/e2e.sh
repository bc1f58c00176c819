#!/usr/bin/env bash
# Runs the end-to-end tests: starts a cluster, assembles and loads the images,
# runs the scenarios of test/e2e and ends the cluster, unless it was up before.
# Called by "make e2e"; RUN chooses scenarios as "go test -run" does, KEEP=1
# leaves the cluster up, further arguments go to the tests, HOOKPOLICY_CLUSTER names the cluster's folder.
set -euo pipefail
cd "$(dirname "$0")/.."
cluster=hack/cluster/cluster
HOOKPOLICY_CLUSTER=$("$cluster" folder)
HOOKPOLICY_HELM=$(go tool -n -modfile=hack/tools/helm/go.mod helm)
export HOOKPOLICY_CLUSTER HOOKPOLICY_HELM HOOKPOLICY_E2E=required

images=$(mktemp -d)
end() {
	[ -z "${down:-}" ] || "$cluster" down
	rm -rf "$images"
}
trap end EXIT
trap 'exit 1' INT TERM

if ! "$cluster" running && [ -z "${KEEP:-}" ]; then down=yes; fi
"$cluster" up

make --no-print-directory image IMAGE=hookpolicy:e2e
cp dist/hookpolicy.tar "$images/"
CGO_ENABLED=0 go build -o "$images/agent" ./test/e2e/agent
GOFLAGS='' CGO_ENABLED=0 go -C hack/mkimage run . -o "$images/agent.tar" -t hookpolicy-e2e-agent:e2e \
	-entrypoint /agent "$images/agent:/agent"
"$cluster" load "$images"/*.tar

cat <<'EOF'

!! NetworkPolicies are NOT ENFORCED on this cluster: it proves that they are
!! accepted, not that they hold anybody back.

EOF
go test ./test/e2e -count=1 -v -timeout 60m -run "${RUN:-.}" "$@"
