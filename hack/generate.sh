#!/usr/bin/env bash
# Writes everything that is generated from the types in api/: deepcopy methods,
# apply configurations and the CustomResourceDefinitions. Run from anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

controller_gen() { go tool -modfile=hack/tools/go.mod controller-gen "$@"; }

rm -rf api/v1alpha1/applyconfiguration
controller_gen object paths=./api/v1alpha1
controller_gen applyconfiguration paths=./api/v1alpha1
controller_gen crd paths=./api/v1alpha1 output:crd:dir=config/crd/bases
