#!/usr/bin/env bash
# Writes everything that is generated from the types in api/: deepcopy methods,
# apply configurations and the CustomResourceDefinitions, and the chart's copies
# of them. Run from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

controller_gen() { go tool -modfile=hack/tools/go.mod controller-gen "$@"; }

rm -rf api/v1alpha1/applyconfiguration
controller_gen object paths=./api/v1alpha1
controller_gen applyconfiguration paths=./api/v1alpha1
controller_gen crd paths=./api/v1alpha1 output:crd:dir=config/crd/bases

# The chart renders them from its own folder, for Helm sees no other.
# What else is there is the chart's own.
rm -rf charts/hookpolicy/files/{admission,crds,rbac}
mkdir -p charts/hookpolicy/files/{admission,crds,rbac}
cp config/crd/bases/*.yaml charts/hookpolicy/files/crds/
cp config/rbac/*.yaml charts/hookpolicy/files/rbac/
cp config/admission/*.yaml charts/hookpolicy/files/admission/
