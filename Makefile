# `make` lists what there is; each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# By uv, which needs a tenth of pip's time; by pip, with its own settings and patience, where uv does not succeed.
INSTALL := install() { \
	  $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --editable "$$1" || \
	  $(BIN)/pip install --quiet --disable-pip-version-check --editable "$$1"; \
	}; install
# A registry that is gone for a minute fails nothing.
export UV_HTTP_RETRIES ?= 6
export PIP_RETRIES ?= 8
# uv reads the index that pip is told.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_EXTRA_INDEX_URL
export UV_INDEX ?= $(PIP_EXTRA_INDEX_URL)
endif
PACKAGE := pyproject.toml setup.py $(wildcard src/verdikt/daemon/native/*.c src/verdikt/daemon/native/build.py)
KNOWLEDGE := src/verdikt/knowledge
# One worker more than there are cores: many tests wait for a client, a disk or a lock.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# One that misses its bar, or cannot install its peers, does not keep the others from running.
BENCH ?= $(wildcard benchmarks/[a-z]*.py)

.DEFAULT_GOAL := help
.PHONY: help run test lint clients sdks receivers check bench train docs web dist clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s%s\n", $$1, $$2}' Makefile

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/pip install --quiet --disable-pip-version-check uv

$(VENV)/installed: $(PACKAGE) | $(BIN)/python
	$(INSTALL) .
	touch $@

# At once with what it extends: each install builds the package again.
$(VENV)/installed-test: $(PACKAGE) | $(BIN)/python
	$(INSTALL) '.[test]'
	touch $(VENV)/installed $@

$(VENV)/installed-check: $(PACKAGE) | $(BIN)/python
	$(INSTALL) '.[test,check]'
	touch $(VENV)/installed $(VENV)/installed-test $@

$(VENV)/installed-bench: $(VENV)/installed-test
	$(INSTALL) '.[bench]'
	touch $@

# What an editable install compiled is out of date as soon as a record changes; tests compile it themselves.
$(KNOWLEDGE)/_compiled.py: $(VENV)/installed $(KNOWLEDGE)/compiler.py $(wildcard $(KNOWLEDGE)/*.toml $(KNOWLEDGE)/programs/*.toml)
	$(BIN)/python $(KNOWLEDGE)/compiler.py
	touch $@

run: $(VENV)/installed $(KNOWLEDGE)/_compiled.py ## a scripted session: blocks, an ask, a verified log, a replay
	@$(BIN)/verdikt demo

test: $(VENV)/installed-test ## every test; the pages' dependencies are fetched by the tests that need them
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(VENV)/installed-check ## ruff, ruff format, mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clients: $(VENV)/installed-test ## the real clients at pinned versions, into a cache; the tests install what is missing themselves
	$(BIN)/python -m tests.clients.install

sdks: $(VENV)/installed-test ## the agent SDKs at floor and newest version, each in an environment of its own, into a cache
	$(BIN)/python -m tests.sdks.environments

receivers: $(VENV)/installed-test ## a real receiver of OpenTelemetry (arize-phoenix) in an environment of its own, into a cache
	$(BIN)/python -m tests.sdks.environments receivers

check: lint test ## tests, ruff, ruff format, mypy --strict: what CI runs

bench: $(VENV)/installed-bench $(KNOWLEDGE)/_compiled.py ## benchmarks: ratios in one run; BENCH=benchmarks/team.py for one of them
	@failed=; for b in $(BENCH); do echo "== $$b"; PYTHONPATH=. $(BIN)/python $$b || failed="$$failed $$b"; done; \
	  test -z "$$failed" || { echo "failed:$$failed"; exit 1; }

train: $(VENV)/installed-train ## trains the model that reads claims, from data/claims
	$(BIN)/python -m tools.train_claims

docs: $(VENV)/installed-test $(KNOWLEDGE)/_compiled.py ## rewrites the generated tables of the docs, and the picture of a session
	@$(BIN)/python -m tests.documents
	@$(BIN)/python -m tools.record_session

web: $(VENV)/installed ## the dependencies of the pages, from npm, at the digests of their lock file
	$(BIN)/python -m tools.fetch_web

$(VENV)/installed-train: $(VENV)/installed
	$(INSTALL) '.[train]'
	touch $@

$(VENV)/installed-dist: $(VENV)/installed
	$(INSTALL) '.[dist]'
	touch $@

dist: $(VENV)/installed-dist ## source distribution, pure wheel and manylinux wheel in dist/, checked by twine
	$(BIN)/python -m tools.build_dist

clean: ## removes .venv, caches and built packages
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
