# make help prints itself.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

include hack/versions.env
export PATH := $(shell hack/go.sh):$(PATH)
export GOFLAGS := -buildvcs=false
# The same for programs and tests: what is compiled for one serves the other.
export CGO_ENABLED := 0

VERSION := $(shell git describe --tags --dirty 2>/dev/null || echo v0.1.0-dev)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
DATE := $(shell git log -1 --format=%cI 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.date=$(DATE)

BIN := $(CURDIR)/bin
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dbop-cluster
CLUSTER := $(BIN)/cluster
TOOLS := $(BIN)/tools
# The image in deploy/install.yaml: that of the next release.
OPERATOR_IMAGE := ghcr.io/dbop-dev/kubectl-dbop:v0.1.0
PREFIX ?= /usr/local
# See deploy/README.md.
SCORE_IGNORES := container-image-pull-policy

.PHONY: help
help: ## Print this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: agent ## Build bin/kubectl-dbop and bin/dbop-agent, static and stripped
	go build -ldflags '$(LDFLAGS)' -o $(BIN)/kubectl-dbop ./cmd/kubectl-dbop

# What runs beside a database server. It is for pods, so it is for Linux.
.PHONY: agent
agent:
	GOOS=linux go build -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/dbop-agent ./cmd/dbop-agent

.PHONY: failpoint
failpoint: ## Build bin/failpoint/kubectl-dbop, which end-to-end tests can have die at a step
	go build -tags failpoint -ldflags '$(LDFLAGS)' -o $(BIN)/failpoint/kubectl-dbop ./cmd/kubectl-dbop

.PHONY: install
install: build ## Install the plugin to $(PREFIX)/bin
	install -D -m 0755 $(BIN)/kubectl-dbop $(PREFIX)/bin/kubectl-dbop
	ln -sf kubectl-dbop $(PREFIX)/bin/kubectl_complete-dbop
	@echo "Try: kubectl dbop create my-db --engine etcd"

.PHONY: expected-time
expected-time:
	@if [ -x "$(CACHE)/bin/components" ]; then echo "This takes about 5 minutes."; \
	else echo "The first time this takes about 17 minutes on 2 cores: most of it compiles Kubernetes and etcd, once."; fi

.PHONY: demo
demo: expected-time build stores cluster-up ## Set everything up and run the main job on a real Kubernetes with real etcd
	hack/demo.sh

.PHONY: demo-operator
demo-operator: expected-time build cluster-up ## The same with an operator: from a manifest to its deletion
	hack/demo-operator.sh

.PHONY: test
test: ## Set everything up and pass every test, end to end included
	hack/test.sh

# Tests are linked without what a debugger needs, and not vetted: the linter does that, once. Both take minutes.
TESTFLAGS := -vet=off -ldflags=-w

.PHONY: unit
# Many tests wait for servers, so more packages than processors run at once.
unit: etcd-binaries ## Tests that need no cluster
	go test -p 3 -timeout 20m $(TESTFLAGS) ./cmd/... ./pkg/... ./test/simulation/... ./test/plans/... ./test/history/... ./hack/release/... ./hack/picture/... ./hack/words/...

.PHONY: agents
# Of the versions besides the one of this machine, the newest; make torture has all. Those on the cluster are another one.
agents: $(CLUSTER) ## Agents with real PostgreSQL and Valkey servers as plain processes, and what happens to them; AREA=REGEXP chooses tests
	hack/postgres.sh
	hack/valkey.sh
	go test $(TESTFLAGS) -parallel 2 -timeout 25m ./test/agent $(if $(AREA),-run "$(AREA)")
	$(if $(AREA),,hack/agents.sh 18)

# Where tests of pkg/repository look for object stores, and for age; those that find none are skipped.
STORES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dbop-stores

.PHONY: stores
stores: ## Build the object stores that tests of backups run: three that are true, and one that lies
	GOBIN=$(STORES) go install github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)
	GOBIN=$(STORES) go install filippo.io/age/cmd/age@$(shell go list -m -f '{{.Version}}' filippo.io/age)
	GOBIN=$(STORES) go install github.com/fsouza/fake-gcs-server@$(FAKE_GCS_SERVER_VERSION)
	cd hack/stores && go build -o $(STORES)/rclone .
	hack/azurite.sh $(STORES)

.PHONY: e2e
e2e: failpoint stores cluster-up ## Tests on the real cluster; ENGINE=NAME and AREA=REGEXP choose a part
	ENGINE=$(ENGINE) hack/e2e.sh $(if $(AREA),-run "$(AREA)")

# What the other releases of Redis and Valkey go through as well.
FAULTS := (Story|Restarts|Volumes|Damaged|Crashes|DiskFull|MemoryFull|CopiedAgain|Resync|LogGap|History)Valkey$$

.PHONY: torture
torture: failpoint stores cluster-up ## Every kill between two steps, and the long simulation; ENGINE=NAME, AREA=REGEXP
	$(if $(filter postgres,$(ENGINE)),hack/postgres.sh && DBOP_TORTURE=all go test -v -timeout 24h ./test/agent -skip Valkey)
	$(if $(filter postgres,$(ENGINE)),DBOP_TORTURE=all hack/agents.sh 17 18)
	$(if $(filter valkey,$(ENGINE)),hack/valkey.sh && libraries=$$(hack/libraries.sh) && DBOP_CLIENT_LIBRARIES=$$libraries DBOP_TORTURE=all go test -v -timeout 24h ./test/agent -run 'Valkey|Sentinel|Libraries')
	$(if $(filter valkey,$(ENGINE)),for server in redis-7 redis-8 valkey-9; do go test -v -timeout 4h ./test/agent -all -server $$server -run '$(FAULTS)'; done)
	$(if $(AREA),,go test -timeout 30m ./pkg/repository/...)
	DBOP_TORTURE=all ENGINE=$(ENGINE) hack/e2e.sh $(if $(AREA),-run "$(AREA)")
	$(if $(AREA),,DBOP_TORTURE=all go test ./test/simulation ./pkg/agent/... ./pkg/engine/etcd -timeout 4h)

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Static checks: import rules, long lines and replaced words included
	$(TOOLS)/golangci-lint run ./...
	go run ./hack/words

.PHONY: check-deploy
check-deploy: $(TOOLS)/kube-score ## Judge the manifests; what is ignored is explained in deploy/README.md
	$(TOOLS)/kube-score score --ignore-container-cpu-limit --ignore-test $(SCORE_IGNORES) --output-format ci deploy/install.yaml deploy/rbac/*.yaml
	go test ./deploy

$(TOOLS)/kube-score: hack/versions.env
	GOBIN=$(TOOLS) go install github.com/zegl/kube-score/cmd/kube-score@$(KUBE_SCORE_VERSION)
	@touch $@

$(TOOLS)/golangci-lint: hack/versions.env
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@touch $@

.PHONY: release-check-time
release-check-time:
	@echo "With cold caches this takes about 16 minutes on 2 cores: it compiles goreleaser, Helm, kubectl and every platform."

.PHONY: release-check
release-check: release-check-time $(TOOLS)/goreleaser $(TOOLS)/helm $(CLUSTER) ## Make a release without publishing it, and look at everything in it
	@$(CLUSTER) build kubectl
	hack/release/check.sh

.PHONY: release
release: $(TOOLS)/goreleaser ## Make the release of the tag at hand: signs, pushes the image, drafts. For the workflow
	$(TOOLS)/goreleaser release --clean
	bin/release/release manifest --out dist/dbop.yaml
	bin/release/release check dist/dbop.yaml

$(TOOLS)/goreleaser: hack/versions.env
	GOBIN=$(TOOLS) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	@touch $@

$(TOOLS)/helm: hack/versions.env
	GOBIN=$(TOOLS) go install helm.sh/helm/v4/cmd/helm@$(HELM_VERSION)
	@touch $@

.PHONY: picture
picture: build cluster-up ## Make the picture in the README again, from a real run
	hack/picture.sh

.PHONY: vulnerabilities
vulnerabilities: ## Known vulnerabilities of what is called; asks vuln.go.dev
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

.PHONY: generate
generate: ## Regenerate what is generated: deep copies, custom resource definitions, the CLI reference, the modules in docs
	go run sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_GEN_VERSION) object crd:maxDescLen=200 output:crd:dir=deploy/crd paths=./pkg/api/v1alpha1/...
	rm -f deploy/crd/_.yaml # of kinds that no API serves
	$(MAKE) build # it embeds what was made so far
	$(BIN)/kubectl-dbop reference --dir docs/reference
	DBOP_REGISTRY= $(BIN)/kubectl-dbop operator install --dry-run=client --image $(OPERATOR_IMAGE) > deploy/install.yaml
	GOOS=linux GOARCH=amd64 go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}' ./cmd/... | LC_ALL=C sort -u > docs/modules.txt

.PHONY: bench
bench: build cluster-up ## Measure against the alternatives, as ratios
	hack/bench.sh

.PHONY: etcd-binaries
etcd-binaries: $(CLUSTER)
	@$(CLUSTER) build etcd

$(CLUSTER): $(shell find hack/cluster -name '*.go' -not -path '*/components/*' 2>/dev/null)
	cd hack/cluster && go build -o $@ .

.PHONY: cluster-up
cluster-up: build $(CLUSTER) ## Start the real cluster (DBOP_E2E_KUBECONFIG set: use that one instead)
	hack/cluster-up.sh

.PHONY: cluster-down
cluster-down: $(CLUSTER) ## Stop the real cluster and leave nothing behind
	$(CLUSTER) down
