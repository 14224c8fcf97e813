# `make test` is the one command: what it passes may be merged. The rest is for a closer look.
# Needs Go, make and git; a C compiler for the race detector.

SHELL       := /bin/sh
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

# A go.work of the developer's own must not decide what is tested.
export GOWORK := off

# Every module but the tools: the core at the root, and what is too heavy for an integrator's go.sum.
MODULES := $(patsubst %/,%,$(sort $(dir $(shell find . \
	\( -name '.?*' -o -name testdata -o -name vendor -o -name node_modules -o -path ./tools \) -prune \
	-o -name go.mod -print))))
ifeq ($(filter .,$(MODULES)),)
$(error no go.mod at the root: nothing would be tested)
endif

# The tools are pinned in a module of their own; each is built once and stays in the Go build cache.
TOOL      := go tool -modfile='$(CURDIR)/tools/go.mod'
GOLANGCI  := $(TOOL) golangci-lint
LINTFLAGS ?=

# The race detector needs cgo. Without a C compiler the tests run without it, and say so.
HAVE_CC := $(shell command -v "$$(go env CC)" 2>/dev/null)
RACE    := $(if $(HAVE_CC),-race)
TESTFLAGS ?=

FUZZTIME ?= 30s
BENCH    ?= .
COUNT    ?= 1
BASE     ?=
MAXLINES := 500

heading = printf '\n== %s\n' "$(1)"

# $(call each,heading,command): the command in every module, until the first that fails.
each = set -e; for module in $(MODULES); do printf '\n== %s: %s\n' "$(1)" "$$module"; (cd "$$module" && $(2)) || exit 1; done

STAGES := check-files check-tests check-fmt check-tidy vet lint unit

.PHONY: help test $(STAGES) fmt fix tidy tools cover fuzz bench benchstat apidiff vuln quickstart

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

test: ## everything a change must pass
	@set -e; for stage in $(STAGES); do \
		start=$$(date +%s); \
		$(MAKE) $$stage; \
		took="$$took $$stage $$(( $$(date +%s) - start )) s,"; \
	done; \
	printf '\n== passed:%s modules: %s\n' "$$took" '$(MODULES)'

check-files: ## no .go file written by hand is longer than 500 lines
	@set -e; $(call heading,$@); \
	find . \( -name '.?*' -o -name vendor -o -name node_modules \) -prune -o -name '*.go' -print | sort | { \
		files=0; long=0; \
		while IFS= read -r file; do \
			files=$$((files + 1)); \
			if grep -qE '^// Code generated .* DO NOT EDIT\.$$' "$$file"; then continue; fi; \
			lines=$$(wc -l < "$$file"); \
			if [ "$$lines" -gt $(MAXLINES) ]; then echo "$$file: $$lines lines, $(MAXLINES) is the limit"; long=1; fi; \
		done; \
		[ "$$files" -gt 0 ] || { echo 'no .go file found'; exit 1; }; \
		[ "$$long" -eq 0 ] || exit 1; \
		echo "$$files files"; \
	}

check-tests: # a module without a test would pass in silence
	@set -e; $(call heading,$@); \
	for module in $(MODULES); do \
		packages=$$(cd "$$module" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); \
		count=$$(echo "$$packages" | grep -c . || true); \
		[ "$$count" -gt 0 ] || { echo "$$module: no test in any package"; exit 1; }; \
		echo "$$module: $$count packages with tests"; \
	done

check-fmt:
	@set -e; $(call heading,$@); \
	$(GOLANGCI) fmt --diff || { echo 'not formatted: run `make fmt`'; exit 1; }

check-tidy:
	@set -e; for module in $(MODULES) tools; do \
		printf '\n== %s: %s\n' $@ "$$module"; \
		(cd "$$module" && go mod tidy -diff) || { echo 'not tidy: run `make tidy`'; exit 1; }; \
	done

vet: ## build and go vet
	@$(call each,$@,go build ./... && go vet ./...)

lint: ## golangci-lint
	@$(call each,$@,$(GOLANGCI) run $(LINTFLAGS) ./...)

unit: ## the tests alone: shuffled, with the race detector
	@$(if $(RACE),,if [ -n "$$CI" ]; then echo 'no C compiler, so no race detector: not good enough for CI'; exit 1; fi; \
		echo 'NO C COMPILER: THE RACE DETECTOR IS OFF';) \
	$(call each,$@,go test $(RACE) -shuffle=on $(TESTFLAGS) ./...)

fmt: ## format in place
	@$(GOLANGCI) fmt

fix: ## apply what the linters can correct by themselves
	@$(call each,$@,$(GOLANGCI) run --fix $(LINTFLAGS) ./...)

tidy: ## go mod tidy in every module
	@set -e; for module in $(MODULES) tools; do (cd "$$module" && go mod tidy) || exit 1; done

tools: ## build the pinned linter (it stays in the Go build cache)
	@set -e; $(call heading,$@); \
	$(GOLANGCI) version

cover: ## coverage of every module, in coverage/
	@set -e; mkdir -p coverage; \
	for module in $(MODULES); do \
		printf '\n== %s: %s\n' $@ "$$module"; \
		profile='$(CURDIR)'/coverage/$$(echo "$$module" | sed 's,^\./,,; s,^\.$$,core,; s,/,-,g').out; \
		(cd "$$module" && go test -coverpkg=./... -coverprofile="$$profile" $(TESTFLAGS) ./... \
			&& go tool cover -func="$$profile" | tail -n 1) || exit 1; \
	done

fuzz: ## every fuzz target for FUZZTIME (30s)
	@set -e; found=0; \
	for module in $(MODULES); do \
		packages=$$(cd "$$module" && go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); \
		for package in $$packages; do \
			list=$$(cd "$$module" && go test -list '^Fuzz' "$$package"); \
			for target in $$(echo "$$list" | grep '^Fuzz' || true); do \
				found=$$((found + 1)); \
				printf '\n== %s: %s in %s\n' $@ "$$target" "$$package"; \
				(cd "$$module" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package") || exit 1; \
			done; \
		done; \
	done; \
	[ "$$found" -gt 0 ] || { echo 'no fuzz target found'; exit 1; }

bench: ## benchmarks of the core (BENCH=pattern COUNT=n)
	@go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

benchstat: ## compare two outputs of `make bench COUNT=10` (OLD=file NEW=file)
	@$(TOOL) benchstat '$(OLD)' '$(NEW)'

apidiff: ## what changed in the public face of the core since BASE (the last tag)
	@set -e; base='$(BASE)'; [ -n "$$base" ] || base=$$(git describe --tags --abbrev=0 --match 'v*'); \
	tmp=$$(mktemp -d); trap 'git worktree remove --force "$$tmp/old" 2>/dev/null; rm -rf "$$tmp"' EXIT; \
	git worktree add --quiet --detach "$$tmp/old" "$$base"; \
	module=$$(go list -m); \
	$(TOOL) -n apidiff > "$$tmp/apidiff"; \
	(cd "$$tmp/old" && "$$(cat "$$tmp/apidiff")" -m -w "$$tmp/old.api" "$$module"); \
	"$$(cat "$$tmp/apidiff")" -m -incompatible "$$tmp/old.api" "$$module" > "$$tmp/incompatible"; \
	"$$(cat "$$tmp/apidiff")" -m "$$tmp/old.api" "$$module"; \
	if [ -s "$$tmp/incompatible" ]; then echo "not compatible with $$base"; exit 1; fi; \
	echo "compatible with $$base"

vuln: ## known vulnerabilities that the code reaches, the standard library's included (VULNDB=another database)
	@$(call each,$@,$(TOOL) govulncheck $(if $(VULNDB),-db '$(VULNDB)') ./...)

quickstart: ## the ten-minute tour, against the sandbox
	@go run ./examples/quickstart
