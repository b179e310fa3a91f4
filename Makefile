# Everything a developer or a machine runs. Bare `make` explains itself.

GO         ?= go
LINT       := bin/golangci-lint
CORE       := ./internal/agent
COVER_MIN  ?= 95
SEEDS      ?= 20000
SEED       ?=
RACE_PKGS  ?= ./...
# What `make ci` runs under the race detector: all but the long simulations and the tree checks.
FAST_PKGS   = $(shell $(GO) list ./... | grep -vE '/(sim|mutants|archtest.*)$$')

.DEFAULT_GOAL := help
.PHONY: help check fmt fmt-check lint archtest test race cover trace sim mutants report tools \
	ci clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt-check lint archtest test report ## before every commit: under two minutes, no services

fmt: $(LINT) ## lay out all Go files
	$(LINT) fmt

fmt-check: $(LINT) ## fail when a Go file is not laid out
	@$(LINT) fmt --diff || { echo "not laid out: run 'make fmt'"; exit 1; }

lint: $(LINT) ## linters, each with its reason in .golangci.yml
	$(LINT) run

archtest: ## who may import what, the purity of the core, the tree in docs/architecture.md
	$(GO) test ./internal/archtest/...

test: ## unit, property and script tests
	$(GO) test ./...

race: ## all tests under the race detector (RACE_PKGS= to narrow)
	$(GO) test -race $(RACE_PKGS)

cover: ## statements of the core that its tests reach; fails under COVER_MIN
	@mkdir -p bin
	$(GO) test $(CORE)/... -coverpkg=$(CORE) -coverprofile=bin/cover.out
	@$(GO) tool cover -func=bin/cover.out | awk -v min=$(COVER_MIN) '\
		/^total:/ { sub("%", "", $$3); printf "core coverage %s%%, at least %s%%\n", $$3, min; \
		exit !($$3 + 0 >= min) }'

trace: ## hold the scripts and tests against the list of core requirements
	$(GO) test $(CORE) -run '^TestTrace$$' -v -count=1

ifeq ($(SEED),)
sim: ## simulate SEEDS random histories; SEED=n plays one again
	$(GO) test $(CORE)/sim -run '^TestHistories$$' -count=1 -v -timeout 30m -seeds=$(SEEDS)
else
sim:
	$(GO) test $(CORE)/sim -run '^TestReplay$$' -count=1 -v -timeout 30m -seed=$(SEED)
endif

mutants: ## break the core on purpose, one way at a time: the tests must notice each
	$(GO) test $(CORE)/mutants -run '^TestMutants$$' -count=1 -v -timeout 30m -mutants

report: ## sizes, names and comments worth a look; never fails
	@$(GO) run ./internal/archtest/report

tools: $(LINT) ## build the linter, as pinned in tools/go.mod

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

ci: ## everything, cheapest first, with a table of timings
	@bash .ci/steps.sh tools fmt-check lint archtest test cover trace \
		'race RACE_PKGS="$(FAST_PKGS)"' mutants 'sim SEEDS=1000000'

clean: ## remove what the targets above made
	rm -rf bin
