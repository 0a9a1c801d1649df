# The whole developer interface. Every target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test slow coverage check format bench golden bundled clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing hmem with every extra into $(VENV) (a few minutes the first time) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[all,dev]'
	@touch $@

demo: install
	@$(BIN)/hmem demo

# One worker a core. Compiled tests are kept, whatever the environment says: each worker reads all of them.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --dist worksteal

test: install
	$(PYTEST)

slow: install
	$(PYTEST) --slow -m slow

coverage: install
	$(PYTEST) --cov --cov-report= --cov-fail-under=0
	$(PYTEST) --slow -m slow --cov --cov-append --cov-report=term-missing:skip-covered

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	@for question in $(filter-out benchmarks/common.py,$(wildcard benchmarks/*.py)); do echo "== $$question"; $(BIN)/python $$question || exit 1; done

golden: install
	$(BIN)/python -m tests.golden.write
	$(BIN)/pytest --write-snapshots tests/cli

clean:
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis
