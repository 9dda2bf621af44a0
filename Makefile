# Every check lives in .ci/run, which takes the names of the checks to run; the targets here are shorthand.

.DEFAULT_GOAL := help
CHECK := bash .ci/run
TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: check
check: ## what every change must pass
	@$(CHECK)

.PHONY: nightly
nightly: ## the slow checks: long races, all scenarios, mutants, fuzzing, the baseline
	@$(CHECK) nightly

.PHONY: test
test: ## all tests of the module, on the installed Go
	go test ./...

.PHONY: race
race: ## the race detector without the long stress, on 2 and 16 processors; one processor without it
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
lint: ## golangci-lint and go vet, all modules; imports; go.mod files
	@$(CHECK) lint

.PHONY: fmt
fmt: ## format the code: gofumpt and gci
	$(TOOL) golangci-lint fmt ./...

.PHONY: portable
portable: ## build for the other platforms, vet for two of them, test on 386
	@$(CHECK) portable

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (default 1m) each
	@FUZZTIME=$(or $(FUZZTIME),1m) $(CHECK) fuzz

.PHONY: bench-smoke
bench-smoke: ## the benchmarks' tests, a run too short for figures, and a quick one beside the baseline
	@$(CHECK) bench baseline

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
