# Everything a developer or a machine runs. Bare `make` explains itself.

GO         ?= go
LINT       := bin/golangci-lint
SQLC       := $(CURDIR)/bin/sqlc
WORKFLOWS  := bin/workflowcheck
NODE       := web/node_modules/.package-lock.json
GENERATOR  := web/generate/node_modules/.package-lock.json
CORE       := ./internal/agent
COVER_MIN  ?= 95
SEEDS      ?= 20000
SEED       ?=
RUNS       ?= 25
CANCELS    ?= 300
KILLS      ?= 60
RACES      ?= 10000
MINUTES    ?= 4
RESUME     ?= 5s
EACH       ?= 1
FUZZTIME   ?= 60s
SIZE       ?= full
LOAD       ?= 60s
ROUNDS     ?= 3
RACE_PKGS  ?= ./...
# The tests of make tenancy, which the others need not run again.
TENANCY    := ^Test(Tenancy|Login|Key|Session|Member|Tenant|Catalogue|Route|Guess|Forged|Revoked)
# The module with the engine's server takes twelve minutes of CPU to build. Whatever is built in it is
# built with the same settings, so that it is built once.
ENGINE     := cd standalone && CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath"
# What `make ci` runs under the race detector: all but what is long by itself and the tree checks.
FAST_PKGS   = $(shell $(GO) list ./... | grep -vE '/(sim|mutants|chaos|archtest.*)$$')

.DEFAULT_GOAL := help
.PHONY: help check engine lean report/binaries fmt fmt-check lint lint/engine archtest test test/engine \
	test/services test/bridges tenancy test/mcp e2e histories replay workflowcheck test/chaos crash crash/points crash/ledger crash/delete crash/mutants streams \
	bench/journal bench/engine bench/api escape approvals audit test/webhook hostile overload fuzz race cover trace sim mutants generate generate-check generate/web web web/test e2e/web pictures web/check web/fresh docs/api report tools \
	ci clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9\/-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt-check lint archtest test report ## before every commit: under two minutes, no services

fmt: $(LINT) ## lay out all Go files
	$(LINT) fmt

fmt-check: $(LINT) ## fail when a Go file is not laid out
	@$(LINT) fmt --diff || { echo "not laid out: run 'make fmt'"; exit 1; }

lint: $(LINT) ## linters, each with its reason in .golangci.yml
	$(LINT) run

lint/engine: $(LINT) ## the same linters on the standalone module
	$(ENGINE) ../$(LINT) run

archtest: ## who may import what, the purity of the core, the tree in docs/architecture.md
	$(GO) test ./internal/archtest/...

test: ## unit, property and script tests
	$(GO) test ./...

engine: web/fresh ## build bin/retinue-full, the program with the workflow engine inside
	$(ENGINE) $(GO) build -tags web -ldflags "-s -w" -o ../bin/retinue-full .

lean: web/fresh ## build bin/retinue, the program for workers and clients, without an engine
	CGO_ENABLED=0 $(GO) build -tags web -trimpath -ldflags "-s -w" -o bin/retinue ./cmd/retinue

report/binaries: lean engine ## size, start time and memory of both programs
	@bash .ci/binaries.sh

test/engine: ## the engine on SQLite and Postgres: kill -9, restart, upgrade (RETINUE_TEST_POSTGRES)
	$(ENGINE) $(GO) test -ldflags "-s -w" -tags services -count=1 -timeout 20m -p 1 ./...

test/services: ## what needs Postgres and NATS, beside tenancy (RETINUE_TEST_POSTGRES, RETINUE_TEST_NATS)
	$(GO) test -tags services -count=1 -timeout 20m ./internal/journal/... ./internal/live/...
	$(GO) test -tags services -count=1 -timeout 20m -skip '$(TENANCY)' ./internal/api/...

tenancy: ## nobody where they do not belong: every route, role and id, logins, keys, revocation (needs Postgres)
	$(GO) test ./internal/people/... ./internal/api -tags services -count=1 -v -timeout 10m \
		-run '$(TENANCY)'

test/bridges: ## OpenAI's and A2A's own clients against the server, on both stacks (needs make engine)
	$(GO) test -count=1 -timeout 2m ./internal/bridge/...
	$(GO) test -tags services -count=1 -timeout 9m -run '^TestBridge' -v ./e2e

test/mcp: ## MCP servers from npm and hostile ones, in the sandbox and over HTTP (needs node, npm, bubblewrap)
	servers=$$(bash .ci/mcp-servers.sh) && RETINUE_TEST_MCP_SERVERS=$$servers \
		$(GO) test ./internal/tool/mcp -tags services -count=1 -timeout 10m -v

e2e: ## scenarios on the whole program, both stacks, short and long legs (needs make engine lean)
	$(GO) test -C e2e -tags services -count=1 -timeout 20m -parallel 3 -skip '^TestBridge'

histories: ## store the engine's histories of all scenarios anew; old ones are what replay is for
	rm -f internal/durable/testdata/histories/*
	$(GO) test -tags services -count=1 -timeout 20m -parallel 6 ./e2e \
		-histories $(CURDIR)/internal/durable/testdata/histories

replay: ## stored histories on today's code, and on changed code that must be noticed
	$(GO) test ./internal/durable -run '^TestReplay' -count=1 -v -seeded

workflowcheck: $(WORKFLOWS) ## workflow code depends on its history only; a seeded clock is found
	@bash .ci/workflowcheck.sh

test/chaos: ## every fault of the plan RUNS times on both model wires
	$(GO) test ./internal/model/chaos -count=1 -timeout 30m -runs=$(RUNS)

escape: ## the sandbox against ways out, bombs, cancels and kills (needs bubblewrap; as root also the user retinue-test)
	$(GO) test ./internal/sandbox -tags services -count=1 -v -timeout 20m -cancels=$(CANCELS) -kills=$(KILLS) \
		-seed=$(or $(SEED),0)
	$(GO) test ./internal/tool/shell ./internal/app -tags services -count=1
	$(GO) test ./internal/tool/builtin -count=1 -v -races=$(RACES) \
		-run '^Test(NoPath|Hostile|Devices|ALinkSwapped|AFolderSwapped|ProtectedPaths)'
	$(GO) test ./internal/egress -count=1 -v -run '^TestNoAddress'

approvals: ## what was approved is what runs: 5,000 random sequences, and 500 that wait through kills (needs make engine)
	$(GO) test ./internal/durable -count=1 -v -run '^TestApprovals$$' -sequences=5000 -seed=$(or $(SEED),0)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 20m -run '^TestPending$$' -pending -seed=$(or $(SEED),0)

hostile: ## the local server against hostile pages, odd requests and another user (as root)
	$(GO) test ./internal/app -count=1 -v -timeout 5m \
		-run '^Test(Hostile|ThePerson|AnotherUser|WhatIsNoSocket|LocalMode|MoreThan|Streams|ASlow|AnEngine|Bodies|Health|Servers|Who|TLS)'

overload: ## three times what a server can take, for LOAD (needs make engine lean)
	$(GO) test ./e2e/overload -tags services -count=1 -v -timeout 10m -overload -for $(LOAD)

audit: ## the audit trail: MUTATIONS random mutations on each store, all found (needs Postgres)
	$(GO) test ./internal/audit -count=1
	$(GO) test ./internal/audit/store -tags services -count=1 -v -timeout 5m -mutations=$(or $(MUTATIONS),1000) -seed=$(or $(SEED),0)

test/webhook: ## webhooks against receivers that fail, and through kills, on both stores (needs Postgres)
	$(GO) test ./internal/webhook -count=1
	$(GO) test ./internal/webhook/store -tags services -count=1 -v -timeout 5m -seed=$(or $(SEED),0)

fuzz: ## front matter, transcripts, both streams, paths of tools and addresses, FUZZTIME each
	@GO="$(GO)" bash .ci/fuzz.sh $(FUZZTIME) \
		config:FuzzFrontMatter model:FuzzTranscript model:FuzzAnthropicStream model:FuzzOpenAIStream \
		tool/builtin:FuzzResolve tool/builtin:FuzzWrite tool/command:FuzzParse egress:FuzzTarget egress:FuzzPublic

crash: ## work over HTTP while servers, workers, clients, engine and database are killed: SEED= to play one again, MINUTES= of faults
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^TestCrash$$' -minutes=$(MINUTES) \
		-resume=$(RESUME) -seed=$(or $(SEED),0)

crash/points: ## die at every named point of a run, EACH times, and compare what was said in the end
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^TestPoints$$' -each=$(EACH) -seed=$(or $(SEED),0)

crash/ledger: ## kill workers in the middle of 400 calls that must not run twice and 120 that can be reconciled
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 20m -run '^TestLedger$$' -ledger

crash/delete: ## delete conversations in every state, twice, in the middle of a talk and under kills (needs make engine)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 10m -run '^TestDelete$$' -deletion

crash/mutants: ## break the host on purpose, one way at a time: the scenarios must notice each
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^(TestScenarios|TestMutants)$$' -scenarios -mutants \
		-parallel 3

streams: ## cut, starve and kill 200 streams, 0 gaps and 0 duplicates; 5,000 on one server (needs make engine lean)
	$(GO) test ./e2e/streams -tags services -count=1 -v -timeout 10m -seed=$(or $(SEED),0) \
		$(if $(filter small,$(SIZE)),-short)

bench/journal: ## the journal next to its bare drivers, in one run
	$(GO) test ./internal/journal/postgres ./internal/journal/sqlite -tags services -count=1 -v -p 1 \
		-timeout 20m -run '^TestFigures$$' -figures

bench/engine: ## agents next to the bare engine on both stores, growth, cancel; SIZE=small is CI's
	$(GO) test ./e2e/bench -tags services -count=1 -v -timeout 90m -rounds $(ROUNDS) \
		$(if $(filter small,$(SIZE)),,-full -plots $(CURDIR)/docs)

bench/api: ## messages, events and snapshots over HTTP, next to a bare handler; SIZE=small is CI's (needs make engine)
	$(GO) test ./e2e/bench -tags services -count=1 -v -timeout 20m -run '^TestAPI$$' -api \
		$(if $(filter small,$(SIZE)),,-full)

race: ## all tests under the race detector (RACE_PKGS= to narrow)
	$(GO) test -race $(RACE_PKGS)

cover: ## statements of the core that its tests reach; fails under COVER_MIN
	@mkdir -p bin
	$(GO) test $(CORE)/... -coverpkg=$(CORE),$(CORE)/receipt -coverprofile=bin/cover.out
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

generate: $(SQLC) ## write the journal's queries again from their SQL
	cd internal/journal/postgres && $(SQLC) generate
	cd internal/journal/sqlite && $(SQLC) generate

generate-check: $(SQLC) ## fail when generated code is not what its source gives
	cd internal/journal/postgres && $(SQLC) diff
	cd internal/journal/sqlite && $(SQLC) diff

web: $(NODE) ## build the web app into web/dist: types, linter, bundle; needs node, npm
	cd web && npm run --silent check && npm run --silent lint && npm run --silent build

web/test: $(NODE) ## the web app's own tests; needs node, npm
	cd web && npm run --silent test

# Two files of scenarios at a time, each with a server and a browser of its own, and then alone those that hold the time
# of the page's thread against a budget. SCENARIOS= names files.
MEASURED = e2e/budget.test.ts e2e/past.test.ts

e2e/web: $(NODE) ## scenarios in a browser against the running program, with pictures in bin/shots; needs make engine, chromium
	@rm -rf bin/shots
	$(GO) test -c -o bin/past.test ./e2e/past
	cd web && npm run --silent e2e -- $(or $(SCENARIOS),$(filter-out $(MEASURED),$(patsubst web/%,%,$(wildcard web/e2e/*.test.ts))))
	$(if $(SCENARIOS),,cd web && npm run --silent e2e -- --test-concurrency=1 $(MEASURED))

pictures: $(NODE) ## take the pictures of the README again, from the running program; needs make engine, chromium
	cd web && npm run --silent pictures

# The programs embed web/dist. A stale one is built again, and one that cannot be built is not embedded.
web/fresh:
	@cd web && [ "$$(cat dist/stamp 2> /dev/null)" = "$$(bash build/stamp.sh)" ] || { \
		echo "web/dist is not built from these sources: building it"; $(MAKE) --no-print-directory -C .. web; }
	@cd web && [ "$$(cat dist/stamp 2> /dev/null)" = "$$(bash build/stamp.sh)" ] || { \
		echo "web/dist is stale and could not be built: run 'make web', which needs node and npm"; exit 1; }

generate/web: $(GENERATOR) bin/openapi.json ## write the web app's types again from the API's document
	cd web/generate && npm run --silent generate

web/check: $(NODE) $(GENERATOR) bin/openapi.json ## fail when the web app's types are stale or do not fit their use
	@cd web/generate && npx --no-install openapi-typescript ../../bin/openapi.json --output ../../bin/api.ts > /dev/null
	@diff -u web/src/generated/api.ts bin/api.ts || { echo "stale: run 'make generate/web'"; exit 1; }
	cd web && npm run --silent check

docs/api: ## run the walk of docs/api.md as it is written (needs make engine, curl, jq)
	$(GO) test ./e2e/docs -tags services -count=1 -v -timeout 5m

.PHONY: bin/openapi.json
bin/openapi.json:
	@mkdir -p bin
	@$(GO) run ./cmd/retinue openapi > $@

$(NODE): web/package.json web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json

$(GENERATOR): web/generate/package.json web/generate/package-lock.json
	cd web/generate && npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json

report: ## sizes, names and comments worth a look; never fails
	@$(GO) run ./internal/archtest/report

tools: $(LINT) $(SQLC) ## build the linter and the query generator, as pinned in tools/go.mod

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(SQLC): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/sqlc-dev/sqlc/cmd/sqlc

$(WORKFLOWS): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ go.temporal.io/sdk/contrib/tools/workflowcheck

ci: ## everything, cheapest first, with a table of timings
	@bash .ci/steps.sh tools engine lean fmt-check lint lint/engine generate-check web/check web/test archtest test cover \
		trace workflowcheck replay escape approvals tenancy 'audit + test/webhook' hostile test/mcp test/engine \
		test/services e2e e2e/web docs/api test/bridges bench/journal 'bench/engine SIZE=small ROUNDS=1' 'bench/api SIZE=small' \
		'streams SIZE=small' 'overload LOAD=15s' 'crash RESUME=10s' crash/points crash/ledger crash/delete crash/mutants \
		test/chaos 'race RACE_PKGS="$(FAST_PKGS)"' mutants 'fuzz FUZZTIME=10s' 'sim SEEDS=150000'

clean: ## remove what the targets above made
	rm -rf bin web/dist
