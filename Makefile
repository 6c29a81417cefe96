# The commands of the project. `make up` and `make test` are all a newcomer needs.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
DATA  ?=
KILLS ?= 50
SURFACE_KILLS ?= 8
LANDING_KILLS ?= 10
ROOMS ?= 1000
MESSAGES ?= 1000
CONVERSATIONS ?= 200
SURFACES ?= matrix telegram discord web
SEED  ?=
ONLY  ?=
ATTACKER ?=
RUNS  ?= 20

BINS := -p cloister -p cloister-agent -p cloister-launcher --bins
LAB := -p cloister-lab
CONNECTORS := -p cloister-matrix -p cloister-telegram -p cloister-discord --bins
SHIPPED := cloister cloister-agent cloister-launcher cloister-matrix cloister-telegram cloister-discord
# nextest where it is installed, the standard runner elsewhere: the tests pass under both.
RUNNER := $(shell command -v cargo-nextest >/dev/null 2>&1 && echo "nextest run" || echo "test")
# Most tests wait for servers and timers: three times as many at once as there are processors.
AT_ONCE := $(shell command -v cargo-nextest >/dev/null 2>&1 && echo "--test-threads $$((3 * $$(nproc)))")

# Once for several suites that run side by side.
build_all = $(if $(BUILT),,$(CARGO) build --locked --workspace --bins)

help: ## this list
	@grep -hE '^[a-z -]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

up: ## install what is missing, build, start; ends with a login link (DATA= chooses a directory)
	@scripts/setup run
	$(CARGO) build --profile up --locked $(BINS)
	@exec target/up/cloister $(if $(DATA),--data "$(DATA)") up

matrix-connector telegram-connector discord-connector: %-connector: ## build the connector of a surface, beside what `make up` runs
	@scripts/setup run
	$(CARGO) build --profile up --locked -p cloister-$* --bin cloister-$*

test: ## install what the tests need, run them all
	@scripts/setup test
	$(CARGO) build --locked --workspace --bins --tests
	$(CARGO) $(RUNNER) --locked --workspace $(AT_ONCE)
	$(MAKE) --no-print-directory -j 4 chaos redteam backlog examples BUILT=1 MESSAGES=100 CONVERSATIONS=20

examples: ## run the examples of the documentation
	$(CARGO) test --locked --workspace --doc

soak: ## run the tests over and over on a busy machine, name what failed even once: RUNS=20
	@scripts/setup test
	$(CARGO) build --locked --workspace --bins --tests
	@scripts/soak $(RUNS)

escape: ## attack the sandbox from inside, long form, as root and as an ordinary user
	@scripts/setup test
	$(CARGO) build --locked $(BINS)
	CLOISTER_ESCAPE_LONG=1 $(CARGO) $(RUNNER) --locked -p cloister-sandbox --test escape -p cloister-control --test races
	@cat target/escape-report.txt

fuzz: ## throw mutated bytes at every parser: SECONDS=60 (each) TARGET=markdown SEED=
	CLOISTER_FUZZ_SECONDS=$(or $(SECONDS),60) $(if $(SEED),CLOISTER_FUZZ_SEED=$(SEED)) \
	  $(CARGO) $(RUNNER) --locked --workspace fuzz_$(TARGET)

chaos: ## kill everything at random and count what was lost: KILLS=50 SURFACE_KILLS=8 LANDING_KILLS=10 SEED=
	@scripts/synapse
	$(build_all)
	target/debug/cloister-lab chaos --kills $(KILLS) $(if $(SEED),--seed $(SEED))
	target/debug/cloister-lab chaos --landings --kills $(LANDING_KILLS) $(if $(SEED),--seed $(SEED))
	@legs=(); for surface in matrix telegram discord; do \
	  target/debug/cloister-lab chaos --$$surface --kills $(SURFACE_KILLS) --users 3 --chats 2 $(if $(SEED),--seed $(SEED)) & \
	  legs+=($$!); \
	done; \
	for leg in "$${legs[@]}"; do wait "$$leg"; done

backlog: ## start on messages that piled up, on every surface: MESSAGES=1000 CONVERSATIONS=200 SURFACES="matrix telegram discord web"
	@scripts/synapse
	$(build_all)
	@for surface in $(SURFACES); do \
	  chats=10; if [ $$surface = discord ]; then chats=1; fi; \
	  target/debug/cloister-lab chaos --$$surface --backlog $(MESSAGES) --users $$(($(CONVERSATIONS) / chats)) --chats $$chats \
	    $(if $(SEED),--seed $(SEED)); \
	done

redteam: ## attack this build: a model that obeys, a hostile agent, member, admin, operator: ATTACKER=agent ONLY=part of an id
	$(build_all)
	target/debug/cloister-lab redteam $(if $(ATTACKER),--attacker $(ATTACKER)) $(if $(ONLY),--only $(ONLY))

bench: ## measure this machine
	$(CARGO) build --release --locked $(BINS) $(LAB)
	target/release/cloister-lab bench

local-model: ## try the whole way with a real small model on this machine: WHICH=coder|small RUNS=10, or URL= MODEL=
	$(CARGO) build --locked --workspace --bins
	@scripts/local-model

matrix-bench: ## what we add to a real homeserver's own time, and what rooms cost: ROOMS=1000
	@scripts/synapse
	$(CARGO) build --release --locked $(BINS) $(CONNECTORS) $(LAB)
	target/release/cloister-lab matrix-bench --rooms $(ROOMS)

audit-bench: ## how fast a million audit entries are written, sealed and verified
	$(CARGO) test --release --locked -p cloister-store --lib a_million_entries -- --ignored --nocapture

dist: ## build everything as well as it can be and pack it: an archive and its checksum under dist/
	$(CARGO) build --release --locked $(BINS) $(CONNECTORS)
	@scripts/dist target/release $(SHIPPED)

timings: ## build from nothing and say what each crate and each program costs: PROFILE=up ROWS=40
	@PROFILE="$(or $(PROFILE),up)" BINS="$(BINS)" CONNECTORS="$(CONNECTORS)" scripts/timings

fresh: ## as root: prove `make up` and `make test` on a bare Debian, from nothing: ONLY=up SUITE=bookworm
	@ONLY="$(ONLY)" scripts/fresh

lint: ## format, clippy, schema
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

screenshots: ## pictures of the main pages at three widths, light and dark, judged by axe-core: target/screenshots
	@scripts/setup test
	$(CARGO) build --locked --workspace --bins
	$(CARGO) $(RUNNER) --locked -p cloister --test browser gallery

pictures: screenshots ## renew the few that the documentation shows: docs/pictures
	@scripts/pictures

matrix: ## write the reviewed tables of admin calls and of cell requests from the code; review what changed
	CLOISTER_WRITE_MATRIX=1 $(CARGO) $(RUNNER) --locked -p cloister-web -p cloister-control matrix

words: ## write what is newly said into the catalogues, to be translated
	CLOISTER_WRITE_WORDS=1 $(CARGO) $(RUNNER) --locked -p cloister-testkit --test tree words

schema: ## write docs/protocol.schema.json and docs/surface.schema.json from the types
	$(CARGO) run --locked -q -p cloister-testkit --bin wire-schema > docs/protocol.schema.json
	$(CARGO) run --locked -q -p cloister-testkit --bin wire-schema surfaces > docs/surface.schema.json

openapi: ## write docs/openapi.json from the table of admin calls
	$(CARGO) run --locked -q -p cloister-web --example openapi > docs/openapi.json

.PHONY: help words up matrix-connector telegram-connector discord-connector test examples soak escape fuzz chaos backlog redteam bench screenshots pictures local-model matrix-bench audit-bench dist timings fresh lint matrix schema openapi
