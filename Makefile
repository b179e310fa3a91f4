# Everything a developer or a machine runs. Bare `make` explains itself.

GO         ?= go
LINT       := bin/golangci-lint
RACE_PKGS  ?= ./...
# What `make ci` runs under the race detector: all but the tree checks.
FAST_PKGS   = $(shell $(GO) list ./... | grep -vE '/archtest.*$$')

.DEFAULT_GOAL := help
.PHONY: help check fmt fmt-check lint archtest test race report tools \
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

report: ## sizes, names and comments worth a look; never fails
	@$(GO) run ./internal/archtest/report

tools: $(LINT) ## build the linter, as pinned in tools/go.mod

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

ci: ## everything, cheapest first, with a table of timings
	@bash .ci/steps.sh tools fmt-check lint archtest test 'race RACE_PKGS="$(FAST_PKGS)"'

clean: ## remove what the targets above made
	rm -rf bin
