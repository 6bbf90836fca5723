# Every target explains itself: make help
SHELL := /bin/bash -o pipefail
CACHE ?= $(or $(VALKEYKUBE_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkeykube)
CLUSTER ?= demo
export VALKEYKUBE_CACHE := $(CACHE)
export CLUSTER
CLUSTER_BIN := $(CACHE)/bin/cluster
KUBE_BIN := $(CACHE)/bin/kubernetes-v1.37.2
export PATH := $(KUBE_BIN):$(PATH)
# One set of build flags for everything, so that binaries, tests and checks share the build cache.
export CGO_ENABLED := 0
export GOFLAGS := $(shell go env GOFLAGS) -trimpath
# Our version alone is stamped. The one of k8s.io/component-base must stay as it is: the libraries take it for the Kubernetes version.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
GOBUILD := go build -ldflags "-s -w -X github.com/valkeykube/valkeykube/pkg/version.stamped=$(VERSION)"

.DEFAULT_GOAL := help

##@ The two commands
demo: up ## Bring a real cluster up, install the product, and show the main job
	hack/demo.sh

test: unit integration e2e e2e-ha ## Pass every test: unit, integration, end-to-end on a real cluster

##@ The cluster (CLUSTER=name keeps several apart; NODE is node-1, node-2 or node-3; DOMAIN=k8s.example gives a new one another DNS domain, FAMILY=ipv6 or dual other addresses)
up: cluster-up images ## The cluster with the product installed; run twice it changes nothing
	@KUBECONFIG= hack/deploy.sh
	@echo "kubeconfig: $$($(CLUSTER_BIN) kubeconfig --name $(CLUSTER))   remove everything: make down CLUSTER=$(CLUSTER)"

down: $(CLUSTER_BIN) ## Remove the cluster: no process, mount, network or cgroup stays
	$(CLUSTER_BIN) down --name $(CLUSTER)

kubeconfig: $(CLUSTER_BIN) ## Print the path of the cluster's kubeconfig
	@$(CLUSTER_BIN) kubeconfig --name $(CLUSTER)

cut heal stop-node start-node: $(CLUSTER_BIN) ## Cut a node off the network, heal it, stop it, start it: make cut NODE=node-2
	$(CLUSTER_BIN) $@ --name $(CLUSTER) $(or $(NODE),$(error NODE is not set: make $@ NODE=node-1))

cluster-up: $(CLUSTER_BIN) ## The bare cluster, without the product
	$(CLUSTER_BIN) up --name $(CLUSTER) --sources hack/cluster $(if $(DOMAIN),--domain $(DOMAIN)) $(if $(FAMILY),--family $(FAMILY))

images: build $(CLUSTER_BIN) ## Assemble the product's images and load them into the cluster
	$(CLUSTER_BIN) load --name $(CLUSTER) --product-bin bin

test-images: images ## Load what else the end-to-end tests use: client libraries, and Valkey on musl; needs npm and a C compiler
	hack/clients.sh
	$(CLUSTER_BIN) load --name $(CLUSTER) --product-bin bin --clients bin/clients --musl

deploy: ## Install the product into the cluster of $KUBECONFIG, or of CLUSTER (INSTALL=ha: several API servers and an etcd)
	hack/deploy.sh

undeploy: ## Take the product and its store out of that cluster again; refused while Valkeys exist
	hack/deploy.sh remove

backup: ## Write a snapshot of the store in the cluster of $KUBECONFIG, or of CLUSTER: make backup FILE=snapshot.db
	hack/backup.sh $(or $(FILE),$(error FILE is not set))

restore: ## Put a snapshot back: make restore FILE=snapshot.db
	hack/restore.sh $(or $(FILE),$(error FILE is not set))

$(CLUSTER_BIN): FORCE
	@mkdir -p $(dir $@) && cd hack/cluster && go build -buildvcs=false -o $@ .

##@ Build
build: ## Build the static binaries into bin/
	@for c in apiserver controller agent; do echo "build bin/valkey-$$c"; $(GOBUILD) -o bin/valkey-$$c ./cmd/$$c || exit 1; done
	@echo "build bin/kubectl-valkey"; $(GOBUILD) -o bin/kubectl-valkey ./cmd/kubectl-valkey
	@cd test/client && go build -ldflags "-s -w" -o ../../bin/testclient .

install-plugin: ## Build kubectl valkey and put it, with its completion, into PREFIX/bin (PREFIX=~/.local unless set)
	@$(GOBUILD) -o bin/kubectl-valkey ./cmd/kubectl-valkey
	@install -D -m 755 -t $(or $(PREFIX),$(HOME)/.local)/bin bin/kubectl-valkey hack/plugin/kubectl_complete-valkey
	@echo "kubectl valkey is in $(or $(PREFIX),$(HOME)/.local)/bin; that must be on your PATH"

generate: ## Generate deepcopy, defaults, validation, conversion, protobuf, OpenAPI and clients
	hack/update-codegen.sh
	hack/update-statusdoc.sh

##@ Check
verify: ## Everything generated is current, formatted, vetted, linted, and where it belongs
	hack/verify.sh

lint: ## golangci-lint alone
	hack/lint.sh

binaries: $(CLUSTER_BIN) ## Build or fetch what the cluster is made of, into the cache
	$(CLUSTER_BIN) build --sources hack/cluster

unit: binaries ## Tests of packages, with real Valkey servers where one is spoken to (a million simulated steps; VALKEYKUBE_SIMULATOR_STEPS)
	VALKEYKUBE_SIMULATOR_STEPS=$(or $(VALKEYKUBE_SIMULATOR_STEPS),1000000) go test -timeout 20m ./cmd/... ./pkg/... ./examples/... ./test/architecture/...
	cd hack/cluster && go test ./...
	cd test/client && go test ./...
	cd test/clients/valkey-go && go vet ./...

integration: binaries ## The API server behind a real kube-apiserver
	hack/integration.sh

bench: binaries ## Our API server beside a CRD of the same schema, on one kube-apiserver (OBJECTS=5000; PROFILES=dir keeps CPU profiles)
	@hack/integration.sh -v -count 1 ./test/bench -args -objects $(or $(OBJECTS),5000) -watchers 100 -lists 10 -profiles "$(abspath $(PROFILES))"

bench-data: ## Hand-overs under load, apply to Ready, and a roll with 500 MB, on a cluster of its own (RUNS=10 of each, RUN=regexp, MEGABYTES=500)
	BENCH=1 RUN="$(or $(RUN),HandOver|ApplyToReady|Roll)" CLUSTER=$(if $(filter demo,$(CLUSTER)),bench,$(CLUSTER)) hack/e2e.sh

bench-fleet: ## What many Valkeys cost the controller, idle and changed, on a cluster of its own (INSTANCES=200, LENGTH=60 seconds each)
	BENCH=1 RUN=TestFleet CLUSTER=$(if $(filter demo,$(CLUSTER)),bench,$(CLUSTER)) hack/e2e.sh

bench-monitors: ## What one set of Sentinels costs that monitors many Valkeys (INSTANCES=100, LENGTH=60 seconds)
	BENCH=1 RUN=TestMonitors CLUSTER=$(if $(filter demo,$(CLUSTER)),bench,$(CLUSTER)) hack/e2e.sh

bench-failover: ## Until the first write after the primary is killed, frozen or cut off, beside Sentinels without the product (RUNS=10 of each)
	BENCH=1 RUN='$(or $(RUN),TestFailover)' CLUSTER=$(if $(filter demo,$(CLUSTER)),bench,$(CLUSTER)) hack/e2e.sh

e2e: ## End-to-end tests on a real three-node cluster (CLUSTER=e2e unless set; RUN=regexp; SERVERS=8.0, 8.1 or 9.1)
	hack/e2e.sh

e2e-ha: ## End-to-end tests of the highly available installation, on a cluster of their own: of IPv6 and of another DNS domain, unless told
	INSTALL=ha DOMAIN=$(or $(DOMAIN),k8s.corp.internal) FAMILY=$(or $(FAMILY),ipv6) CLUSTER=$(if $(filter demo,$(CLUSTER)),e2e-ha,$(CLUSTER)) hack/e2e.sh

e2e-upgrade: ## End-to-end test of an upgrade from an earlier revision, under data (FROM=revision)
	FROM=$(or $(FROM),$(error FROM is not set: make $@ FROM=v0.1.0)) CLUSTER=$(if $(filter demo,$(CLUSTER)),e2e-upgrade,$(CLUSTER)) hack/e2e.sh

help: ## This help
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_ -]+:.*## / {printf "  %-32s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

FORCE:
.PHONY: demo test up down kubeconfig cut heal stop-node start-node cluster-up images test-images deploy undeploy backup restore build install-plugin generate verify lint binaries unit integration bench bench-data bench-failover bench-fleet bench-monitors e2e e2e-ha e2e-upgrade help FORCE
