# Targets of the project. "make help" lists them.

SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := help

# One set of flags everywhere: any other one compiles PostgreSQL's parser anew,
# a minute of two cores.
export CGO_ENABLED := 1
export GOFLAGS := -trimpath -tags=netgo,osusergo -buildvcs=false

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
IMAGE ?= hookpolicy:$(VERSION)
TOOL := go tool -modfile=hack/tools/go.mod
HELM := -modfile=hack/tools/helm/go.mod helm
FUZZTIME ?= 10s
# Kubernetes' API server and Helm to test with, built from their modules.
WITH_KUBE := assets="$$(hack/kube/build.sh)" && helm="$$(go tool -n $(HELM))" && \
	HOOKPOLICY_KUBE=required KUBEBUILDER_ASSETS="$$assets" HOOKPOLICY_HELM="$$helm"

##@ Use

.PHONY: help
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make \033[36m<target>\033[0m\n"} \
		/^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-z-]+:.*##/ {printf "  \033[36m%-12s\033[0m%s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run the main job: decide real calls over a real socket and verify their record.
	go run ./cmd/hookpolicy demo

.PHONY: build
build: ## Build bin/hookpolicy, which is kubectl-hookpolicy too, and bin/manager, statically linked.
	go build -ldflags '$(LDFLAGS) -linkmode external -extldflags "-static"' -o bin/hookpolicy ./cmd/hookpolicy
	ln -sf hookpolicy bin/kubectl-hookpolicy
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/manager ./cmd/manager

.PHONY: image
image: build ## Assemble the container image into dist/hookpolicy.tar, without an engine.
	mkdir -p dist
	cd hack/mkimage && GOFLAGS= CGO_ENABLED=0 go run . -o ../../dist/hookpolicy.tar -t $(IMAGE) -entrypoint /hookpolicy ../../bin/hookpolicy:/hookpolicy ../../bin/manager:/manager

.PHONY: sbom
sbom: image ## Write what the image is made of into dist/hookpolicy.cdx.json (CycloneDX), and check it.
	parser="$$(go list -m -f '{{.Dir}}' github.com/pganalyze/pg_query_go/v5)" && libc="$$(getconf GNU_LIBC_VERSION)" && cd hack/sbom && export GOFLAGS= CGO_ENABLED=0 && \
		go run . -o ../../dist/hookpolicy.cdx.json -t $(IMAGE) -image ../../dist/hookpolicy.tar -parser "$$parser" -libc "$$libc" ../../bin/hookpolicy ../../bin/manager && \
		go run . -check ../../dist/hookpolicy.cdx.json -image ../../dist/hookpolicy.tar ../../bin/hookpolicy ../../bin/manager

.PHONY: reproduce
reproduce: sbom ## Build image and list again, elsewhere and with an empty cache, and compare the bytes.
	hack/reproduce.sh $(VERSION) $(IMAGE)

##@ Check

.PHONY: test
test: ## Run all tests, with the race detector, on a real Kubernetes API server.
	$(WITH_KUBE) go test -race ./...
	cd hack/mkimage && GOFLAGS= CGO_ENABLED=0 go vet ./...
	for m in hack/promcheck hack/sbom; do (cd $$m && GOFLAGS= CGO_ENABLED=0 go vet ./... && GOFLAGS= CGO_ENABLED=0 go test -count=1 ./...) || exit; done # they read files outside their modules

.PHONY: cases
cases: ## Decide the given cases under test/cases/policy.yaml and print the score of each file.
	go test ./cmd/hookpolicy -run '^TestScoreboard$$' -count 1 -v

.PHONY: test-postgres
test-postgres: ## Hold the classes of SQL against a real PostgreSQL server.
	HOOKPOLICY_POSTGRES="$$(hack/postgres.sh)" && export HOOKPOLICY_POSTGRES && \
		go test -C test/postgres -count 1 -v . | grep -vE '^(=== |    --- PASS)|; it changes '

.PHONY: e2e
e2e: ## Install and use it on a real one-node cluster, as root (RUN=TestName, KEEP=1).
	RUN='$(RUN)' KEEP='$(KEEP)' hack/e2e.sh

.PHONY: chaos
chaos: ## Make trouble under load on a real cluster for DURATION (default 10m), as SEED says, and check the record.
	RUN='^TestChaos$$' KEEP='$(KEEP)' hack/e2e.sh -chaos '$(or $(DURATION),10m)' -seed '$(or $(SEED),1)'

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME each (default 10s).
	hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: ## Measure, print ratios beside the budgets and write docs/performance.md.
	go run ./hack/bench

.PHONY: scale
scale: ## Measure with 1,000 and 10,000 policies on a real API server and write docs/scale.md.
	$(WITH_KUBE) go test ./test/kube -run '^TestScale$$' -scale 1000,10000 -timeout 60m -v

.PHONY: lint
lint: ## Lint the code.
	$(TOOL) golangci-lint run ./...

.PHONY: verify
verify: generate docs ## Prove that formatting, modules and generated files are current.
	go mod tidy -diff
	for m in hack/kube hack/cluster/node hack/cluster/dns hack/tools/helm hack/mkimage hack/promcheck hack/sbom test/postgres; do GOFLAGS= go -C $$m mod tidy -diff || exit; done
	go fix -diff ./...
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	git diff --exit-code
	test -z "$$(git ls-files --others --exclude-standard)"

.PHONY: chart
chart: ## Lint the Helm chart and write it to dist/.
	go tool $(HELM) lint --strict charts/hookpolicy
	mkdir -p dist
	go tool $(HELM) package charts/hookpolicy -d dist

##@ Change

.PHONY: fmt
fmt: ## Format the code.
	gofmt -w $$(git ls-files '*.go')

.PHONY: generate
generate: ## Write deepcopy methods, apply configurations and CustomResourceDefinitions.
	hack/generate.sh

.PHONY: manifests
manifests: generate ## The same: the CustomResourceDefinitions come with it.

.PHONY: docs
docs: ## Write the generated pages of docs/reference.
	go test ./cmd/hookpolicy -run '^Test(Reference|Metrics)Page$$' -update
