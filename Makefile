# Two commands on a fresh machine: `make demo` and `make test`. `make help` lists the rest.
# TORCH_INDEX, when set, is where torch comes from, e.g. the CPU-only builds:
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu
PYTHON      ?= python3
TORCH_INDEX ?=
VENV        := .venv
BIN         := $(VENV)/bin
JOBS        ?= auto
EXTRAS      ?=
PROSE       := README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs src benchmarks scripts

export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# How much `make proof` fuzzes: small, or full (100,000 cases of readers, 10,000 of the command line).
FUZZ ?= small
READER_CASES := $(if $(filter full,$(FUZZ)),100000,20000)
CLI_CASES := $(if $(filter full,$(FUZZ)),10000,2000)

.DEFAULT_GOAL := help
.PHONY: help demo test docs dist lint types rooms tests proof bench format lock clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: $(VENV)/.run  ## install into .venv and run the demo
	@$(BIN)/isoglot demo --out demo
	@echo "Next: . $(BIN)/activate, then: isoglot --help"

test: lint types rooms tests  ## linters, types, import rules, tests

lint: $(VENV)/.dev  ## ruff: style and docstrings; codespell
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/codespell $(PROSE)

types: $(VENV)/.dev  ## mypy
	@$(BIN)/mypy --num-workers 2

rooms: $(VENV)/.dev  ## import-linter: data flows one way
	@$(BIN)/lint-imports

tests: $(VENV)/.dev  ## pytest on all cores, with coverage
	@$(BIN)/pytest -n $(JOBS) --cov

docs: $(VENV)/.docs  ## the site, with executed tutorials, in docs/_build/html; a warning is an error
	@rm -rf docs/tutorials/emergence docs/tutorials/fixed docs/kit
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

dist:  ## build the sdist and the wheel, check them, install the wheel into clean environments (EXTRAS="hf report": with these, too)
	@scripts/check_dist "$(PYTHON)" "$(TORCH_INDEX)" $(EXTRAS)

proof: $(VENV)/.dev  ## what is too long for test: kills, fuzzers (FUZZ=full: all cases), damaged files, the thumbnail study again
	@failed=; for proof in "kill_study.py --kills 50" "fuzz.py readers --cases $(READER_CASES)" "fuzz.py cli --cases $(CLI_CASES)" \
	  "damage.py" "proof.py" "rerun_study.py thumbnail-1.5M"; do \
	  echo "== $$proof"; $(BIN)/python benchmarks/$$proof || failed="$$failed, $$proof"; \
	done; \
	echo "== a real SLURM, where it is installed"; \
	ISOGLOT_SLURM_TESTS=1 $(BIN)/pytest -n 0 -q --no-cov tests/study/test_slurm_engine.py || failed="$$failed, SLURM"; \
	test -z "$$failed" || { echo "== failed$$failed"; exit 1; }

bench: $(VENV)/.dev  ## how fast: benchmarks/, those that need no arguments
	@skipped=; failed=; for script in $$(grep -l __main__ benchmarks/*.py); do \
	  echo "== $$script"; $(BIN)/python $$script; \
	  case $$? in 0) ;; 2) skipped="$$skipped $$script";; *) failed="$$failed $$script";; esac; \
	done; \
	echo "== skipped, for they need arguments (usage above, more with --help):$$skipped"; \
	test -z "$$failed" || { echo "== failed or below target:$$failed"; exit 1; }

format: $(VENV)/.dev  ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

lock:  ## write constraints.txt anew from the newest versions that fit
	@scripts/lock "$(PYTHON)" "$(TORCH_INDEX)"

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage

# --- set-up: each stamp is redone when the pins or the package's needs change ---

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "isoglot needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12 ..."; exit 2; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "python3 has no venv module here; on Debian: apt install python3-venv"; exit 2; }

$(VENV)/.torch: constraints.txt | $(BIN)/python
	@echo "isoglot: setting up $(VENV), once; torch is the large part"
	@$(BIN)/pip install --quiet $(if $(TORCH_INDEX),--no-deps --index-url $(TORCH_INDEX)) torch
	@touch $@

$(VENV)/.run: pyproject.toml $(VENV)/.torch
	@$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.torch
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml $(VENV)/.dev
	@$(BIN)/pip install --quiet --editable '.[dev,docs]'
	@touch $@
