# Thin: each target is one command, or one script of scripts/. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Settings, each to be given on the command line: make run PORT=6380
PORT ?= 6379
FUZZ_SECONDS ?= 30
ARGS ?=
export PORT FUZZ_SECONDS

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
MODULE := $(TARGET_DIR)/release/libredis_limiter.$(if $(filter Darwin,$(shell uname -s)),dylib,so)

##@ Use it

.PHONY: run
run: setup build ## Build, then start a server with the module in the foreground (PORT=6379)
	@scripts/run "$(MODULE)"

.PHONY: demo
demo: setup build ## Ten seconds of traffic through every limiter on a throw-away server
	@cargo run --quiet --locked -p demo -- "$(MODULE)"

.PHONY: service
service: setup build ## Start a server with the module, and an HTTP service behind two limits in front of it
	@cargo build --release --locked --quiet -p service
	@scripts/service "$(MODULE)" "$(TARGET_DIR)/release/service"

.PHONY: build
build: setup-build ## Build the module: target/release/libredis_limiter.so
	@cargo build --release --locked --lib
	@echo "built $(MODULE)"

.PHONY: setup
setup: ## Install what `make run` needs and is missing (apt or Homebrew)
	@scripts/setup build server

##@ Work on it

.PHONY: test
test: setup-test ## The whole test suite, set-up included (ARGS= for the test runner)
	@scripts/test $(ARGS)

.PHONY: lint
lint: setup-lint ## rustfmt, clippy and rustdoc with warnings denied, shellcheck where it is installed
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
	@if command -v shellcheck >/dev/null; then shellcheck scripts/* .ci/run; fi

.PHONY: test-matrix
test-matrix: setup-matrix ## The integration suite on every supported server (SERVERS="redis-7.0 ..." for some)
	@scripts/test-matrix $(SERVERS)

.PHONY: servers
servers: setup-matrix ## Make the servers of the matrix, without running anything on them
	@scripts/servers all

.PHONY: fuzz-smoke
fuzz-smoke: ## Every fuzz target for FUZZ_SECONDS=30 from its kept corpus (needs a nightly toolchain)
	@scripts/fuzz-smoke

.PHONY: miri
miri: ## The core's tests in an interpreter that sees undefined behaviour, else under valgrind (CASES=3)
	@scripts/miri $(ARGS)

.PHONY: memcheck
memcheck: setup-bench build ## The module on a real server under valgrind memcheck, next to the server alone
	@scripts/memcheck "$(MODULE)"

.PHONY: bench
bench: setup-bench ## Measure against INCR, GET and Lua scripts; writes bench/results (ARGS= for options)
	cargo run --release --locked -p bench -- $(ARGS)

.PHONY: bench-instructions
bench-instructions: setup-bench ## Instructions per call, counted by valgrind
	cargo run --release --locked -p bench -- instructions $(ARGS)

.PHONY: bench-check
bench-check: setup-bench ## Fail if the instructions per call have grown: of the core, and next to a no-op command
	cargo run --locked -p bench -- check $(ARGS)

.PHONY: bench-growth
bench-growth: setup-bench ## Cost by keys, connections and events, and latency while a million keys expire
	cargo run --release --locked -p bench -- growth $(ARGS)

.PHONY: bench-client
bench-client: ## What a call of the client costs over a plain one: time and allocations (ARGS=redis://... for round trips)
	@cargo run --release --locked -p bench-client -- $(ARGS)

.PHONY: ci
ci: ## What continuous integration runs
	@.ci/run

.PHONY: clean
clean: ## Remove what was built (the servers of the matrix stay in their cache)
	cargo clean

# What the targets above need. Each does nothing when it is all there.
.PHONY: setup-build setup-test setup-lint setup-matrix setup-bench
setup-build:
	@scripts/setup build
setup-test:
	@scripts/setup build server tests
setup-lint:
	@scripts/setup build lint
setup-matrix:
	@scripts/setup build server tests matrix
setup-bench:
	@scripts/setup build server bench

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@/ {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
