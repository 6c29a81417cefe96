# The commands of the project. `make up` and `make test` are all a newcomer needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
DATA  ?=
KILLS ?= 50
SEED  ?=

BINS := -p cloister -p cloister-agent -p cloister-sandbox --bins
# nextest where it is installed, the standard runner elsewhere: the tests pass under both.
RUNNER := $(shell command -v cargo-nextest >/dev/null 2>&1 && echo "nextest run" || echo "test")

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

up: ## install what is missing, build, start; ends with a login link (DATA= chooses a directory)
	@scripts/setup run
	$(CARGO) build --release --locked $(BINS)
	@exec target/release/cloister $(if $(DATA),--data "$(DATA)") up

test: ## install what the tests need, run them all
	@scripts/setup test
	$(CARGO) build --locked --workspace --bins
	$(CARGO) $(RUNNER) --locked --workspace
	$(MAKE) --no-print-directory chaos

escape: ## attack the sandbox from inside, long form, as root and as an ordinary user
	@scripts/setup test
	$(CARGO) build --locked $(BINS)
	CLOISTER_ESCAPE_LONG=1 $(CARGO) $(RUNNER) --locked -p cloister-sandbox --test escape -p cloister-control --test races
	@cat target/escape-report.txt

chaos: ## kill everything at random and count what was lost: KILLS=50 SEED=
	$(CARGO) build --locked $(BINS)
	$(CARGO) run --locked -q -p cloister-testkit --bin chaos -- --kills $(KILLS) $(if $(SEED),--seed $(SEED))

bench: ## measure this machine
	$(CARGO) build --release --locked $(BINS)
	target/release/cloister bench

lint: ## format, clippy, schema
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

schema: ## write docs/protocol.schema.json from the types
	$(CARGO) run --locked -q -p cloister-testkit --bin wire-schema > docs/protocol.schema.json

.PHONY: help up test escape chaos bench lint schema
