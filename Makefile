# Every check lives in .ci/run, which takes the names of the checks to run; the targets here are shorthand.

.DEFAULT_GOAL := help
CHECK := bash .ci/run
TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## what a new clone needs: a C compiler, all modules, the linter
	@$(CHECK) setup
	@for mod in $$(git ls-files '*go.mod' | grep -v testdata); do echo "modules of $$mod"; go -C $$(dirname $$mod) mod download || exit 1; done
	$(TOOL) golangci-lint version

.PHONY: affected
affected: ## what the change since SINCE (default: where it left main) can make fail; ARGS=-n only prints it
	@go -C tools run ./affected $(if $(SINCE),-since $(SINCE)) $(ARGS)

.PHONY: check
check: ## what every change must pass
	@$(CHECK)

.PHONY: nightly
nightly: ## the stale ones of the slow checks, with their rows in docs/nightly.md; GROUP=… for a part
	@RECORD=1 ONLY=stale $(CHECK) setup $(or $(GROUP),nightly)

.PHONY: stale
stale: ## which rows of docs/nightly.md do not speak of this tree; fails if there are any
	@$(CHECK) fresh

.PHONY: rows
rows: ## add a row to docs/nightly.md for each new step, and drop those of steps that are gone
	@$(CHECK) -steps | go -C tools run ./nightly record /dev/null

.PHONY: busy
busy: ## the tests of the folder PACKAGE, TIMES times (default 50) in four builds on a busy machine
	@ONLY='busy: $(PACKAGE)' $(CHECK) busy

.PHONY: test
test: ## all tests of the module, on the installed Go
	go test ./...

.PHONY: race
race: ## what is concurrent under the race detector, with 16 processors, without the long stress
	@$(CHECK) race

.PHONY: model
model: ## the model checks: every scenario, then the race tier
	@$(CHECK) interleave

.PHONY: proof
proof: ## prove the algorithms that have a table (needs z3)
	go run ./internal/proof

.PHONY: mutants
mutants: ## all mutants of engine, waiters, waiting array and locks (many hours)
	go -C tools run ./mutate -p 2 -md docs/mutants.md

.PHONY: lint
lint: ## golangci-lint, all modules; then go vet, go.mod and forge files, rows
	@$(CHECK) lint vet

.PHONY: api
api: ## write api/*.txt, the list of what programs can use, after a change of the API
	@go -C tools run ./api -write

.PHONY: rehearse
rehearse: ## pack each module that ships, and install it from outside of the repository
	@$(CHECK) release

.PHONY: release
release: ## make the release VERSION as far as its tags, in a copy
	@go -C tools run ./release -prepare $(VERSION) $(ARGS)

.PHONY: fmt
fmt: ## format the code: gofumpt and gci
	$(TOOL) golangci-lint fmt ./...

.PHONY: portable
portable: ## type-check for the other platforms, test on 386, and in an emulator on arm64
	@$(CHECK) portable

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 1m) each
	@FUZZTIME=$(or $(FUZZTIME),1m) $(CHECK) fuzz

.PHONY: bench-smoke
bench-smoke: ## a run of the benchmarks too short for figures, and a quick one beside the baseline
	@$(CHECK) baseline

.PHONY: bench
bench: ## the benchmarks; flags in ARGS, as in: make bench ARGS=-help
	cd bench && go run . $(ARGS)

# Part of no check: it asks a vulnerability database on the network, which CI machines behind a
# module mirror cannot reach.
.PHONY: vuln
vuln: ## known vulnerabilities in what the module imports (needs the network)
	$(TOOL) govulncheck ./...

.PHONY: tools
tools: ## install the tools that tools/go.mod pins (go env GOBIN)
	go -C tools install tool
