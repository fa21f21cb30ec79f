# Every target sets up what it needs: a virtual environment in .venv with the exact versions of constraints.txt.
# Choose another interpreter with `make setup PYTHON=/path/to/python3.12`.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
EXAMPLE := examples/shoplifting
PARTS := kernels lazy
# Two test processes on two cores; the tests of Spark, which has threads of its own, stay in one of them.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadgroup

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-all check format coverage golden bench bench-call bench-lossy bench-sets bench-spark bench-stream \
	clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv and install Augury with its development tools; does nothing when up to date

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Augury needs Python 3.11 or later, and none was found." >&2; \
		echo "Install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Augury needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) --version 2>&1`." >&2; exit 1; }
	@echo "Setting up .venv (a minute or two, once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
# Build backends, ours and that of pyspark, come from constraints.txt like everything else, hence no build isolation.
	@$(PIP) hatchling editables setuptools wheel
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

demo: $(READY) ## find the thefts in a day of RFID readings of a shop, with a pipeline on the embedded Spark engine
	@command -v java >/dev/null || { echo "The demo runs on Spark, which needs Java 17 or later. Without it:" >&2; \
		echo "  $(BIN)/augury match $(EXAMPLE)/shoplifting.augury $(EXAMPLE)/readings.jsonl --output table" >&2; exit 1; }
	@echo "A shop's RFID readings of one day: which items went from a shelf to an exit past no register?"
	@$(BIN)/augury run $(EXAMPLE)/pipeline.toml

test: $(READY) ## run the tests and doctests, without the slow ones
	@$(BIN)/python -m pytest -q -m "not slow" $(SIDE_BY_SIDE)

test-all: $(READY) ## run every test, with several times as many random examples
	@$(BIN)/python -m pytest -q --thorough $(SIDE_BY_SIDE)

check: $(READY) ## lint, formatting, types and import directions
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## format the code and sort its imports
	@$(BIN)/ruff check --quiet --select I --fix
	@$(BIN)/ruff format --quiet

coverage: $(READY) ## run every test; fail if lang, bind and reference are covered below 95% of their lines
	@$(BIN)/python -m pytest -q --cov --cov-report=term
	@$(BIN)/coverage report --include='src/augury/lang/*,src/augury/bind/*,src/augury/reference/*' --fail-under=95

golden: $(READY) ## write golden kernels and the support matrix anew, after a wanted change
	@$(BIN)/python -m pytest -q tests/codegen/test_golden.py tests/language/test_tables.py -k "golden or support_matrix" --update-golden

bench: $(READY) ## measure kernels and lazy plans, answers checked; BENCH=--quick for a smoke run, PARTS=lazy for that part
	@status=0; for part in $(PARTS); do \
		$(BIN)/python -m benchmarks.$$part --json build/bench/$$part.json $(BENCH) || status=1; done; exit $$status

bench-call: $(READY) ## measure the whole call, from Parquet to all matches, beside Polars and DuckDB; needs ../shared/data
	@$(BIN)/python -m benchmarks.call --json build/bench/call.json $(BENCH)

bench-lossy: $(READY) ## measure lossy streams against exact matching, with every answer checked
	@$(BIN)/python -m benchmarks.lossy --json build/bench/lossy.json $(BENCH)

bench-sets: $(READY) ## measure event sets, covers and counting, with every answer checked
	@$(BIN)/python -m benchmarks.sets --json build/bench/sets.json $(BENCH)

bench-spark: $(READY) ## measure matching on Spark beside Spark's own work; BARS=FILE for real minute bars
	@$(BIN)/python -m benchmarks.spark_batch --json build/bench/spark.json $(if $(BARS),--bars $(BARS)) $(BENCH)

bench-stream: $(READY) ## measure streams on Spark, with every answer checked
	@$(BIN)/python -m benchmarks.spark_stream --json build/bench/stream.json $(BENCH)

clean: ## remove .venv and everything generated
	@rm -rf .venv build dist htmlcov .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests examples -name __pycache__ -prune -exec rm -rf {} +
