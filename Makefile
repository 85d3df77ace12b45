# Everything a newcomer needs: `make run`, `make test`, `make check`, `make bench`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: run test clients check bench docs clean

$(VENV)/installed: pyproject.toml setup.py $(wildcard src/verdikt/daemon/native/*.c src/verdikt/daemon/native/build.py)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(VENV)/installed-check: $(VENV)/installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[check]'
	touch $@

$(VENV)/installed-bench: $(VENV)/installed-test
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@

run: $(VENV)/installed
	@$(BIN)/verdikt demo

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n $(JOBS)

# The real clients, at pinned versions, into a cache; the tests install what is missing themselves.
clients: $(VENV)/installed-test
	$(BIN)/python -m tests.clients.install

check: $(VENV)/installed-check test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-bench
	@for b in benchmarks/*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

docs: $(VENV)/installed-test
	@$(BIN)/python -m tests.documents

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
