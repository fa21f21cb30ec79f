# Every target sets up what it needs: a virtual environment in .venv with the exact versions of constraints.txt.
# Choose another interpreter with `make setup PYTHON=/path/to/python3.12`.

# The releases of Python that every pinned package has wheels for: `requires-python` in pyproject.toml.
PYTHONS := 3.11 to 3.14
IN_RANGE := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(IN_RANGE)' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# Build backends: ours, and that of pyspark, which has no wheels. The bound is the last one that was tried.
BUILD_TOOLS := editables hatchling 'setuptools<81' wheel
# Numba's last wheels for Macs with an Intel processor are of 0.62: there, the newest is taken that pyproject.toml allows.
UNPINNED := $(if $(filter Darwin-x86_64,$(shell uname -s -m | tr ' ' '-')),llvmlite|numba|numpy|numpy-typing-compat,-)
EXAMPLE := examples/shoplifting
DEMO_PAGE := build/demo.html
PARTS := kernels lazy
# Another release of Spark, in an environment of its own; 3.5 runs on Python 3.11 only.
SPARK ?= 4.3.0
ON := build/spark-$(SPARK)
ON_PYTHON := $(if $(filter 3.5.%,$(SPARK)),python3.11,$(PYTHON))
# Two test processes on two cores; the tests of Spark, which has threads of its own, stay in one of them.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadgroup

SMOKE := tests/test_readme.py tests/test_packaging.py tests/examples tests/codegen/test_golden.py tests/spark/test_java.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup constraints demo demo-spark test test-slow test-all test-spark smoke smoke-spark check format coverage golden pictures
.PHONY: test-sql docs bench bench-call bench-live bench-lossy bench-sets bench-spark bench-sql bench-stream clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## create .venv and install Augury with its development tools; does nothing when up to date

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Augury needs Python $(PYTHONS), and none was found." >&2; \
		echo "Install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "Augury needs Python $(PYTHONS), and there is no $(PYTHON)." >&2; exit 1; }
	@$(PYTHON) -c '$(IN_RANGE)' || { echo "Augury needs Python $(PYTHONS); $(PYTHON) is `$(PYTHON) --version 2>&1`." >&2; exit 1; }
	@echo "Setting up .venv (a minute or two, once) ..."
# What an earlier attempt left without pip, or with a Python that is gone, is made anew.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { rm -rf .venv; $(PYTHON) -m venv .venv; } || { rm -rf .venv; \
		echo "$(PYTHON) cannot create a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@grep -v -E '^($(UNPINNED))==' constraints.txt > .venv/constraints.txt
# Build backends come from constraints.txt like everything else, hence no build isolation.
	@$(BIN)/python $(PIP_INSTALL) --constraint .venv/constraints.txt $(BUILD_TOOLS)
	@$(BIN)/python $(PIP_INSTALL) --constraint .venv/constraints.txt --no-build-isolation --editable '.[dev]'
	@touch $@

constraints: ## write constraints.txt anew: the newest versions that pyproject.toml allows, in an empty environment
	@rm -rf build/constraints && $(PYTHON) -m venv build/constraints
# A new environment may come with packages of its interpreter: what is pinned is what we ask for, not what was there.
	@build/constraints/bin/python $(PIP_INSTALL) --upgrade --upgrade-strategy eager $(BUILD_TOOLS)
	@build/constraints/bin/python $(PIP_INSTALL) --no-build-isolation '.[dev]'
	@echo '# The exact versions everything is tested with; `make setup` installs with them, `make constraints` renews them.' \
		> build/constraints.txt
	@build/constraints/bin/python -m pip freeze --all --exclude pip --exclude augury >> build/constraints.txt
	@mv build/constraints.txt constraints.txt

demo: $(READY) ## find the thefts in a day of RFID readings of a shop, with a pipeline on the embedded Spark engine, and draw them on a page
	@echo "A shop's RFID readings of one day: which items went from a shelf to an exit past no register?"
	@$(BIN)/augury run $(EXAMPLE)/pipeline.toml
	@mkdir -p build
	@$(BIN)/augury view $(EXAMPLE)/shoplifting.augury $(EXAMPLE)/readings.jsonl -o $(DEMO_PAGE)
	@echo "Open $(DEMO_PAGE) in a browser to see them on a time line. Next: examples/README.md has seven more questions."

docs: $(READY) ## build the documentation as a site in build/docs, without network; warnings are errors
	@$(BIN)/python -m sphinx -q -n -W --keep-going -b html docs build/docs
	@echo "build/docs/site.html"

pictures: $(READY) ## draw the pictures of the documentation and of the examples anew, after a wanted change
	@$(BIN)/python -m docs.make_pictures

test: $(READY) ## run the tests and doctests, without the slow ones
	@$(BIN)/python -m pytest -q -m "not slow" $(SIDE_BY_SIDE)

test-slow: $(READY) ## run the slow tests alone: clusters, Kafka, kill -9, compiled properties; SLOW=FOLDERS for some
	@$(BIN)/python -m pytest -q -m slow $(SIDE_BY_SIDE) $(SLOW)

smoke: $(READY) ## run a few tests of every part, to see that this machine and this Python are fine
	@$(BIN)/python -m pytest -q -m "not slow" $(SMOKE)

test-all: $(READY) ## run every test, with several times as many random examples
	@$(BIN)/python -m pytest -q --thorough $(SIDE_BY_SIDE)

test-sql: $(READY) ## random row patterns at length: 20,000 against the reference, 500 on Spark, 100 streams that are killed
	@$(BIN)/python -m pytest -q -m slow --thorough tests/properties/test_row_pattern_plans.py
	@$(BIN)/python -m pytest -q -m slow tests/spark/test_row_patterns.py
	@$(BIN)/python -m tests.spark.row_patterns_under_fire --streams 100 --seed 1

# What `constraints.txt` says holds on every release, but for Spark itself and the py4j that it asks for.
$(ON)/.ready: pyproject.toml constraints.txt
	@$(ON_PYTHON) --version >/dev/null 2>&1 || { \
		echo "Spark $(SPARK) needs $(ON_PYTHON). Name one: make ... ON_PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(ON) with Spark $(SPARK) (a few minutes, once) ..."
	@test -x $(ON)/bin/python || $(ON_PYTHON) -m venv $(ON)
	@grep -v -E '^(pyspark|py4j|$(UNPINNED))==' constraints.txt > $(ON)/constraints.txt
	@echo "pyspark==$(SPARK)" >> $(ON)/constraints.txt
	@$(ON)/bin/python $(PIP_INSTALL) --constraint $(ON)/constraints.txt $(BUILD_TOOLS)
	@$(ON)/bin/python $(PIP_INSTALL) --constraint $(ON)/constraints.txt --no-build-isolation --editable '.[dev]'
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

golden: $(READY) ## write golden kernels, the support matrix and the tables of the parser anew, after a wanted change
	@$(BIN)/python -m pytest -q tests/codegen/test_golden.py tests/language/test_tables.py tests/lang/test_grammar.py -k "golden or support_matrix" --update-golden

bench: $(READY) ## measure kernels and lazy plans, answers checked; BENCH=--quick for a smoke run, PARTS=lazy for that part
	@status=0; for part in $(PARTS); do \
		$(BIN)/python -m benchmarks.$$part --json build/bench/$$part.json $(BENCH) || status=1; done; exit $$status

bench-call: $(READY) ## measure the whole call, from Parquet to all matches, beside Polars and DuckDB; needs ../shared/data
	@$(BIN)/python -m benchmarks.call --json build/bench/call.json $(BENCH)

bench-live: $(READY) ## measure a Matcher fed batch by batch, and tables of 10 to 10,000 rules, here and on Spark, with every answer checked
	@$(BIN)/python -m benchmarks.live --json build/bench/live.json $(BENCH)
	@$(BIN)/python -m benchmarks.live_rules --spark --json build/bench/live-rules.json $(BENCH)

bench-lossy: $(READY) ## measure lossy streams against exact matching, with every answer checked
	@$(BIN)/python -m benchmarks.lossy --json build/bench/lossy.json $(BENCH)

bench-sets: $(READY) ## measure event sets, covers and counting, with every answer checked
	@$(BIN)/python -m benchmarks.sets --json build/bench/sets.json $(BENCH)

bench-spark: $(READY) ## measure matching on Spark beside Spark's own work; BARS=FILE for real minute bars
	@$(BIN)/python -m benchmarks.spark_batch --json build/bench/spark.json $(if $(BARS),--bars $(BARS)) $(BENCH)

bench-sql: $(READY) ## measure MATCH_RECOGNIZE beside window expressions of Polars and DuckDB; needs ../shared/data
	@$(BIN)/python -m benchmarks.sql --json build/bench/sql.json $(BENCH)

bench-stream: $(READY) ## measure streams on Spark, with every answer checked
	@$(BIN)/python -m benchmarks.spark_stream --json build/bench/stream.json $(BENCH)

clean: ## remove .venv and everything generated
	@rm -rf .venv build dist htmlcov .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests examples benchmarks docs -name __pycache__ -prune -exec rm -rf {} +
