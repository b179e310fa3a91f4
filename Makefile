# Everything a developer or a machine runs. Bare `make` explains itself.

GO         ?= go
LINT       := bin/golangci-lint
SQLC       := $(CURDIR)/bin/sqlc
WORKFLOWS  := bin/workflowcheck
ACTIONS    := bin/actionlint
SCANNER    := bin/govulncheck
NODE       := web/node_modules/.package-lock.json
GENERATOR  := web/generate/node_modules/.package-lock.json
CORE       := ./internal/agent
COVER_MIN  ?= 95
SEEDS      ?= 20000
SEED       ?=
RUNS       ?= 25
SEQUENCES  ?= 5000
DOCUMENTS  ?= 200
TASKS      ?= 1000
VISITS     ?= 20000
CANCELS    ?= 300
KILLS      ?= 60
RACES      ?= 10000
MINUTES    ?= 4
RESUME     ?= 5s
EACH       ?= 1
LOSE       ?= 100
STOPS      ?= 4
FUZZTIME   ?= 60s
SIZE       ?= full
LOAD       ?= 60s
ROUNDS     ?= 3
JOBS       ?= 3
SHORT      ?=
RELEASE    ?= unreleased
# The snapshot of Go's vulnerability database that this machine keeps for all checkouts.
VULNDB     ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/retinue/vulndb
# The tests of make tenancy, which the others need not run again.
TENANCY    := ^Test(Tenancy|Login|Key|Session|Member|Tenant|Catalogue|Route|Guess|Forged|Revoked)
# The tests that the build tag services adds to a folder, for -run. The others need no server, and make race runs them.
tagged      = ^($(shell grep -l '^//go:build services' $(1)/*_test.go | xargs grep -ho '^func Test[A-Za-z0-9_]*' | sed 's/^func //' | paste -sd '|'))$$
ENGINE     := cd standalone &&
# The race detector needs C. Nothing else that runs our code does.
RACE       := CGO_ENABLED=1 $(GO) test -race -timeout 30m
# What runs under the race detector: all but the core, which `make core` runs, what is long by itself and the tree checks.
RACE_PKGS   = $(shell $(GO) list ./... | grep -vE '/(internal/agent.*|chaos|archtest.*|tiers.*|extending)$$')
# The packages with tests that hold figures against bounds.
MEASURING   = $(shell grep -rl --include='*_test.go' '"$(MODULE)/internal/measure"' internal client | xargs -n1 dirname | sort -u | sed 's|^|./|')
MODULE     := github.com/retinue-dev/retinue

# Everything is built as it is shipped, and with one set of flags: building all packages once takes half an hour of
# processor time. Without paths in it, what one checkout built serves every other.
export CGO_ENABLED ?= 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)

.DEFAULT_GOAL := help
# Every target but the files that are built is a name for something to do.
.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9\/-]*\):.*\#\# .*/\1/p' Makefile) web/fresh bin/openapi.json

# A line that begins with ##@ names the group of the targets below it.
help: ## this list
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z0-9\/-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Tiers: .ci/tiers says which suites each one runs

TIER   := $(GO) run ./internal/tiers/run
CHOICE  = -only '$(ONLY)' -from '$(FROM)' -changed '$(CHANGED)' $(if $(LIST),-list)

check: ## before every commit: layout, linters, import rules, tests; under two minutes once the caches are warm, no server
	@$(TIER) check

gate: ## what decides whether a change lands: correctness only, everything at a small size (needs postgresql, NATS, chromium)
	@bash .ci/with-postgres.sh $(TIER) $(CHOICE) -jobs $(JOBS) gate

prove: ## every suite at full size, hours; writes docs/proof.md; ONLY='crash streams', FROM=streams, CHANGED=main~20; LIST=1 only lists
	@$(TIER) $(CHOICE) -keep-going prove

##@ Daily: no server

fmt: $(LINT) ## lay out all Go files
	$(LINT) fmt

fmt-check: $(LINT) ## fail when a Go file is not laid out
	@$(LINT) fmt --diff || { echo "not laid out: run 'make fmt'"; exit 1; }

lint: $(LINT) ## linters, each with its reason in .golangci.yml
	$(LINT) run --allow-serial-runners

lint/engine: $(LINT) ## the same linters on the standalone module
	$(ENGINE) ../$(LINT) run --allow-serial-runners

lint/actions: $(ACTIONS) ## the workflows of hosted runs, read by actionlint
	$(ACTIONS)

archtest: ## who may import what, the purity of the core, clocks in tests, the tree in docs/architecture.md, the table of suites, the guides
	$(GO) test ./internal/archtest/... ./internal/tiers/... ./internal/extending

test: ## unit, property and script tests
	$(GO) test ./...

cover: ## what each shipped package's own tests run of it, without services; fails under 70 % unless archtest.Uncovered has a reason
	@mkdir -p bin
	@$(GO) test -short -cover ./client/... ./cmd/... ./internal/... ./web/... ./wire/... >bin/coverage.txt || { cat bin/coverage.txt; exit 1; }
	@$(GO) run ./internal/archtest/cover <bin/coverage.txt

core: ## the core's tests once: scripts, trace and properties under the race detector; coverage fails under COVER_MIN
	@mkdir -p bin
	$(RACE) $(CORE)/... -coverpkg=$(CORE),$(CORE)/receipt -coverprofile=bin/cover.out
	@$(GO) tool cover -func=bin/cover.out | awk -v min=$(COVER_MIN) '\
		/^total:/ { sub("%", "", $$3); printf "proof: %s %% of the core covered, at least %s\n", $$3, min; \
		exit !($$3 + 0 >= min) }'

race: ## all tests but the core's under the race detector (RACE_PKGS= to narrow, SHORT=-short for a fifth of the random cases)
	$(RACE) $(SHORT) $(RACE_PKGS)

trace: ## hold the scripts and tests against the list of core requirements
	$(GO) test $(CORE) -run '^TestTrace$$' -v -count=1

replay: ## stored histories on today's code, and on changed code that must be noticed
	$(GO) test ./internal/durable -run '^TestReplay' -count=1 -v -seeded

workflowcheck: $(WORKFLOWS) ## workflow code depends on its history only; a seeded clock is found
	@bash .ci/workflowcheck.sh

ifeq ($(SEED),)
sim: ## simulate SEEDS random histories; SEED=n plays one again
	$(GO) test $(CORE)/sim -run '^TestHistories$$' -count=1 -v -timeout 30m -seeds=$(SEEDS)
else
sim:
	$(GO) test $(CORE)/sim -run '^TestReplay$$' -count=1 -v -timeout 30m -seed=$(SEED)
endif

generate: $(SQLC) ## write the journal's queries again from their SQL
	cd internal/journal/postgres && $(SQLC) generate
	cd internal/journal/sqlite && $(SQLC) generate

generate-check: $(SQLC) ## fail when generated code is not what its source gives
	cd internal/journal/postgres && $(SQLC) diff
	cd internal/journal/sqlite && $(SQLC) diff

web/test: $(NODE) ## the web app's own tests; needs node, npm
	cd web && npm run --silent test

web: $(NODE) ## build the web app into web/dist: types, linter, bundle; needs node, npm
	cd web && npm run --silent check && npm run --silent lint && npm run --silent build

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

engine: web/fresh ## build bin/retinue-full, the program with the workflow engine inside
	$(ENGINE) $(GO) build -tags web -ldflags "-s -w" -o ../bin/retinue-full .

lean: web/fresh ## build bin/retinue, the program for workers and clients, without an engine
	$(GO) build -tags web -ldflags "-s -w" -o bin/retinue ./cmd/retinue

report: ## sizes; fails when a package, file, function, comment or name is over a bound without a reason
	@$(GO) run ./internal/archtest/report

tools: $(LINT) $(SQLC) $(WORKFLOWS) $(ACTIONS) $(SCANNER) ## build linters, the query generator and the scanner, as pinned in tools/go.mod

clean: ## remove what the targets above made
	rm -rf bin web/dist

##@ Supply chain: what the programs are made of

SUPPLY := $(GO) run ./internal/supply/run

notice: $(NODE) ## write NOTICE again: every linked module and bundled package with its licence
	@$(SUPPLY) notice

notice/check: $(NODE) ## fail when NOTICE is not current, or a part has no licence that is allowed; offline
	@$(SUPPLY) notice-check

sbom: lean engine $(NODE) ## write the bill of materials (CycloneDX) of both programs beside them, and hold it against them
	@$(SUPPLY) sbom bin
	$(GO) test ./internal/supply -count=1 -v -run '^TestBuiltPrograms$$' -built $(CURDIR)/bin

vulns: $(SCANNER) ## known vulnerabilities that our code reaches, by the snapshot in VULNDB, whose age it prints; offline
	$(GO) test ./internal/supply -count=1 -v -run '^TestAKnownVulnerabilityIsFound$$' -snapshot $(VULNDB) -scanner $(CURDIR)/$(SCANNER)
	@$(SUPPLY) vulns $(VULNDB) $(SCANNER)

vulns/update: ## take the snapshot in VULNDB anew: FROM= a copy of github.com/golang/vulndb
	@[ -n "$(FROM)" ] || { echo "say FROM= the folder of a copy of github.com/golang/vulndb"; exit 1; }
	@$(SUPPLY) snapshot $(FROM) $(VULNDB)

##@ Services: needs Postgres and NATS, most also make engine lean

test/engine: ## the engine on SQLite and Postgres: kill -9, restart, upgrade (TEST_RETINUE_POSTGRES)
	$(ENGINE) $(GO) test -ldflags "-s -w" -tags services -count=1 -v -timeout 30m -p 1 ./...

test/services: ## what needs Postgres and NATS, beside tenancy (TEST_RETINUE_POSTGRES, TEST_RETINUE_NATS)
	$(GO) test -tags services -count=1 -timeout 30m ./internal/journal/postgres ./internal/live/nats ./internal/api/apitest
	$(GO) test -tags services -count=1 -timeout 30m -run '$(call tagged,internal/api)' -skip '$(TENANCY)' ./internal/api

test/bridges: ## OpenAI's and A2A's own clients against the server, on both stacks (needs make engine)
	$(GO) test -count=1 -timeout 30m ./internal/bridge/...
	$(GO) test -tags services -count=1 -timeout 30m -run '^TestBridge' -v ./e2e

test/mcp: ## MCP servers from npm and hostile ones, in the sandbox and over HTTP (needs node, npm, bubblewrap)
	servers=$$(bash .ci/mcp-servers.sh) && TEST_RETINUE_MCP_SERVERS=$$servers \
		$(GO) test ./internal/tool/mcp -tags services -count=1 -timeout 30m -v

e2e: ## scenarios on the whole program, both stacks, short and long legs (needs make engine lean)
	bash .ci/with-postgres.sh $(GO) test -C e2e -tags services -count=1 -timeout 30m -parallel 3 -skip '^TestBridge' $(SHORT)

docs/api: ## run the walk of docs/api.md as it is written (needs make engine, curl, jq)
	$(GO) test ./e2e/docs -tags services -count=1 -v -timeout 30m

# Two files of scenarios at a time, each with a server and a browser of its own, and then alone those that hold the time
# of the page's thread against a budget. SCENARIOS= names files; SCENARIOS=gate is one scenario per screen.
MEASURED = e2e/budget.test.ts e2e/past.test.ts

e2e/web: $(NODE) ## scenarios in a browser against the running program, with pictures in bin/shots (needs make engine, chromium)
	@rm -rf bin/shots
ifeq ($(SCENARIOS),gate)
	cd web && TEST_RETINUE_SCENARIOS=gate npm run --silent e2e -- e2e/*.test.ts
else
	$(GO) test -c -o bin/past.test ./e2e/past
	cd web && npm run --silent e2e -- $(or $(SCENARIOS),$(filter-out $(MEASURED),$(patsubst web/%,%,$(wildcard web/e2e/*.test.ts))))
	$(if $(SCENARIOS),,cd web && npm run --silent e2e -- --test-concurrency=1 $(MEASURED))
endif

pictures: $(NODE) ## take the pictures of the README again, from the running program; needs make engine, chromium
	cd web && npm run --silent pictures

histories: ## add the engine's histories of scenarios that RELEASE has none of; what is stored stays
	bash .ci/with-postgres.sh $(GO) test -tags services -count=1 -timeout 30m -parallel 3 ./e2e \
		-histories $(CURDIR)/internal/durable/testdata/histories/$(RELEASE)

test/webhook: ## webhooks against receivers that fail, and through kills, on both stores (needs Postgres)
	$(GO) test ./internal/webhook -count=1
	$(GO) test ./internal/webhook/store -tags services -count=1 -v -timeout 30m -seed=$(or $(SEED),0)

##@ Attack: what must never happen, tried

tenancy: ## nobody where they do not belong: every route, role and id, logins, keys, revocation (needs Postgres)
	$(GO) test ./internal/people/... ./internal/api ./internal/api/route -tags services -count=1 -v -timeout 30m \
		-run '$(TENANCY)' $(SHORT)
	$(GO) test ./internal/toolbox -tags services -count=1 -v -timeout 30m -run '^TestTenantsShareNoWorker$$' -visits=$(VISITS)

hostile: ## the local server against hostile pages, odd requests and another user (as root)
	$(GO) test ./internal/app ./internal/listener -count=1 -v -timeout 30m \
		-run '^Test(Hostile|ThePerson|AnotherUser|WhatIsNoSocket|LocalMode|MoreThan|Streams|ASlow|AnEngine|Bodies|Health|Servers|Who|TLS)'

escape: ## the sandbox against ways out, bombs, cancels and kills (needs bubblewrap; as root also the user retinue-test)
	$(GO) test ./internal/sandbox -tags services -count=1 -v -timeout 30m -cancels=$(CANCELS) -kills=$(KILLS) \
		-seed=$(or $(SEED),0)
	$(GO) test ./internal/tool/shell -tags services -count=1 -v -run '$(call tagged,internal/tool/shell)'
	$(GO) test ./internal/toolbox -tags services -count=1 -v -timeout 30m -run '$(call tagged,internal/toolbox)'
	$(GO) test ./internal/app -tags services -count=1 -v -timeout 30m -run '$(call tagged,internal/app)'
	$(GO) test ./internal/tool/builtin -count=1 -v -races=$(RACES) \
		-run '^Test(NoPath|Hostile|Devices|ALinkSwapped|AFolderSwapped|ProtectedPaths)'
	$(GO) test ./internal/egress -count=1 -v -run '^TestNoAddress'

walls: ## each attack of docs/walls.md and more of its kind, counted: none succeeds (needs make engine lean, bubblewrap; as root)
	@bash .ci/with-postgres.sh $(GO) run ./internal/walls

cost: ## TASKS random tasks with a cap, and a provider that bills what it got: no bill is over its cap (needs make engine lean)
	$(GO) test ./e2e -tags services -count=1 -v -timeout 30m -run '^TestCost$$' -cost $(TASKS) -cost-seed=$(or $(SEED),1)

approvals: ## what was approved is what runs: SEQUENCES random ones, and 500 that wait through kills (needs make engine)
	$(GO) test ./internal/leg -count=1 -v -timeout 30m -run '^TestApprovals$$' -sequences=$(SEQUENCES) -seed=$(or $(SEED),0)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestPending$$' -pending -seed=$(or $(SEED),0) $(SHORT)

injection: ## hostile documents, DOCUMENTS for each of three sets of roles, and a model that obeys them: nothing happens that nobody approved (needs make engine, bubblewrap)
	$(GO) test ./e2e -tags services -count=1 -v -timeout 60m -run '^TestInjection$$' -injection -documents=$(DOCUMENTS) \
		-injection-seed=$(or $(SEED),0)

audit: ## the audit trail: MUTATIONS random mutations on each store, all found (needs Postgres)
	$(GO) test ./internal/audit -count=1
	$(GO) test ./internal/audit/store -tags services -count=1 -v -timeout 30m -mutations=$(or $(MUTATIONS),1000) -seed=$(or $(SEED),0)

crash: ## work over HTTP while servers, workers, clients, engine and database are killed: SEED= to play one again, MINUTES= of faults
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^(TestCrash|TestEveryMutantFits|TestTheNewerBuildBuilds)$$' -minutes=$(MINUTES) \
		-resume=$(RESUME) -seed=$(or $(SEED),0)

crash/points: ## die at every named point of a run, EACH times, and compare what was said in the end
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^TestPoints$$' -each=$(EACH) -seed=$(or $(SEED),0)

crash/ledger: ## kill workers in the middle of 400 calls that must not run twice and 120 that can be reconciled
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestLedger$$' -ledger $(SHORT)

paused: ## stop a worker for 10 seconds while 50 approved commands run: none runs on, everybody is told (needs make engine lean, bubblewrap)
	$(GO) test ./e2e -tags services -count=1 -v -timeout 30m -run '^TestPaused$$' -paused $(SHORT)

crash/delete: ## delete conversations in every state, twice, in the middle of a talk and under kills (needs make engine)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestDelete$$' -deletion

crash/lost: ## the engine loses LOSE runs in each of three ways, under load: all of them go on (needs make engine)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestLost$$' -lose=$(LOSE)

crash/stopped: ## stop engine and database STOPS times each, workers twice as often, for 10 seconds under load; nothing runs on (needs make engine, bubblewrap)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestStopped$$' -stops=$(STOPS) -seed=$(or $(SEED),0)

crash/rolling: ## upgrade workers and servers one after another, and one back, under load, to a build that records what the older does not know (needs make engine lean, bubblewrap)
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 30m -run '^TestRolling$$' -rolling -seed=$(or $(SEED),0)

crash/mutants: ## break the host on purpose, one way at a time: the scenarios must notice each
	$(GO) test ./e2e/crash -tags services -count=1 -v -timeout 60m -run '^(TestScenarios|TestMutants)$$' -scenarios -mutants \
		-parallel 3

mutants: ## break the core on purpose, one way at a time: the tests must notice each
	$(GO) test $(CORE)/mutants -run '^TestMutants$$' -count=1 -v -timeout 30m -mutants

streams: ## cut, starve and kill 200 streams, 0 gaps and 0 duplicates; 5,000 on one server (needs make engine lean)
	$(GO) test ./e2e/streams -tags services -count=1 -v -timeout 30m -seed=$(or $(SEED),0) $(SHORT)

overload: ## three times what a server can take, for LOAD (needs make engine lean)
	$(GO) test ./e2e/overload -tags services -count=1 -v -timeout 30m -overload -for $(LOAD)

neighbours: ## one tenant's turns beside 500 slow turns, 40 searches and 8 imports of another (needs make engine lean)
	$(GO) test ./e2e -tags services -count=1 -v -timeout 30m -run '^TestNeighbours$$' -neighbours

test/chaos: ## every fault of the plan RUNS times on both model wires
	$(GO) test ./internal/model/chaos -count=1 -v -timeout 30m -runs=$(RUNS)

fuzz: ## front matter, transcripts, both streams, paths of tools and addresses, FUZZTIME each
	@GO="$(GO)" bash .ci/fuzz.sh $(FUZZTIME) \
		config/role:FuzzFrontMatter model:FuzzTranscript model:FuzzAnthropicStream model:FuzzOpenAIStream \
		tool/builtin:FuzzResolve tool/builtin:FuzzWrite tool/command:FuzzParse egress:FuzzTarget egress:FuzzPublic
	$(GO) test ./internal/model -run '^TestGarbled$$' -count=1 -v -garbled=2000

gate/sabotage: ## break the repository on purpose, one way at a time: the gate must notice each; ONLY= an area or a part of a name
	bash .ci/with-postgres.sh $(GO) test ./internal/sabotage -count=1 -v -timeout 120m -run '^TestSabotage$$' -sabotage \
		-parallel $(JOBS) -copies $(JOBS) $(if $(ONLY),-only '$(ONLY)')

##@ Measure: on a quiet machine

measure: ## the tests that hold time and memory against bounds, one package at a time (needs Postgres, NATS, node, bubblewrap)
	servers=$$(bash .ci/mcp-servers.sh) && TEST_RETINUE_MCP_SERVERS=$$servers TEST_RETINUE_MEASURE=1 \
		$(GO) test -tags services -count=1 -v -p 1 -timeout 30m $(MEASURING)

bench/journal: ## the journal next to its bare drivers, in one run
	$(GO) test ./internal/journal/postgres ./internal/journal/sqlite -tags services -count=1 -v -p 1 \
		-timeout 30m -run '^TestFigures$$' -figures

bench/engine: ## agents next to the bare engine on both stores, growth, cancel; SIZE=small is CI's
	$(GO) test ./e2e/bench -tags services -count=1 -v -timeout 90m -rounds $(ROUNDS) \
		$(if $(filter small,$(SIZE)),,-full -plots $(CURDIR)/docs)

bench/api: ## messages, events and snapshots over HTTP, next to a bare handler; SIZE=small is CI's (needs make engine)
	$(GO) test ./e2e/bench -tags services -count=1 -v -timeout 30m -run '^TestAPI$$' -api \
		$(if $(filter small,$(SIZE)),,-full)

report/binaries: lean engine ## size, start time and memory of both programs
	@bash .ci/binaries.sh

bin/openapi.json:
	@mkdir -p bin
	@$(GO) run ./cmd/retinue openapi > $@

$(NODE): web/package.json web/package-lock.json
	cd web && npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json

$(GENERATOR): web/generate/package.json web/generate/package-lock.json
	cd web/generate && npm ci --silent --no-audit --no-fund && touch node_modules/.package-lock.json

$(LINT): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(SQLC): tools/go.mod tools/go.sum # reads SQL with Postgres's own parser, which is C
	CGO_ENABLED=1 $(GO) build -modfile=tools/go.mod -o $@ github.com/sqlc-dev/sqlc/cmd/sqlc

$(ACTIONS): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ github.com/rhysd/actionlint/cmd/actionlint

$(SCANNER): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ golang.org/x/vuln/cmd/govulncheck

$(WORKFLOWS): tools/go.mod tools/go.sum
	$(GO) build -modfile=tools/go.mod -o $@ go.temporal.io/sdk/contrib/tools/workflowcheck
