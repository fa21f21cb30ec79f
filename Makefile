# Every target sets up what it needs: a virtual environment in .venv with the exact versions of constraints.txt.
# Choose another interpreter with `make setup PYTHON=/path/to/python3.12`.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
EXAMPLE := examples/shoplifting
PARTS := kernels lazy
# Another release of Spark, in an environment of its own; 3.5 runs on Python 3.11 only.
SPARK ?= 4.3.0
ON := build/spark-$(SPARK)
ON_PYTHON := $(if $(filter 3.5.%,$(SPARK)),python3.11,$(PYTHON))
# Two test processes on two cores; the tests of Spark, which has threads of its own, stay in one of them.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadgroup

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-all check format coverage golden bench bench-lossy bench-sets bench-spark bench-stream \
	test-spark smoke-spark demo-spark clean

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

test-all: $(READY) ## run every test
	@$(BIN)/python -m pytest -q $(SIDE_BY_SIDE)

# What `constraints.txt` says holds on every release, but for Spark itself and the py4j that it asks for.
$(ON)/.ready: pyproject.toml constraints.txt
	@$(ON_PYTHON) --version >/dev/null 2>&1 || { \
		echo "Spark $(SPARK) needs $(ON_PYTHON). Name one: make ... ON_PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(ON) with Spark $(SPARK) (a few minutes, once) ..."
	@test -x $(ON)/bin/python || $(ON_PYTHON) -m venv $(ON)
	@grep -vE '^(pyspark|py4j)==' constraints.txt > $(ON)/constraints.txt
	@echo "pyspark==$(SPARK)" >> $(ON)/constraints.txt
	@$(ON)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(ON)/constraints.txt \
		hatchling editables setuptools wheel
	@$(ON)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(ON)/constraints.txt \
		--no-build-isolation --editable '.[dev]'
	@touch $@

test-spark: $(ON)/.ready ## run the tests of Spark on another release: SPARK=4.0.5; SLOW=1 for the slow ones as well
	@$(ON)/bin/python -m pytest -q -rs -p no:cacheprovider tests/spark $(if $(SLOW),,-m "not slow")

smoke-spark: $(ON)/.ready ## everything once on another release of Spark: SPARK=3.5.9
	@$(ON)/bin/python -m pytest -q -p no:cacheprovider tests/spark/test_smoke.py

demo-spark: $(ON)/.ready ## the demo on another release of Spark: SPARK=3.5.9
	@$(ON)/bin/augury run $(EXAMPLE)/pipeline.toml

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

golden: $(READY) ## write the golden kernels of tests/golden anew, after a wanted change of the generator
	@$(BIN)/python -m pytest -q tests/codegen/test_golden.py --update-golden

bench: $(READY) ## measure kernels and lazy plans, answers checked; BENCH=--quick for a smoke run, PARTS=lazy for that part
	@status=0; for part in $(PARTS); do \
		$(BIN)/python -m benchmarks.$$part --json build/bench/$$part.json $(BENCH) || status=1; done; exit $$status

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
