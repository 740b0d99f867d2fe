# Everything sets itself up: `make demo` and `make test` are all a fresh machine needs.
PYTHON ?= $(firstword $(foreach python,python3.11 python3.12 python3.13 python3.10 python3,$(shell command -v $(python) 2>/dev/null)))
VENV   ?= .venv
BIN    := $(VENV)/bin
TORCH  ?= yes
# PyTorch is pinned: the recorder's memory layout and the patients' timing are tested against this release.
TORCH_VERSION := 2.13.0
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help venv torch demo test lint types check patients accuracy learn bench docs clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.made: pyproject.toml
	$(PYTHON) -m venv $(VENV) || { echo "make: $(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(PIP) install -e '.[dev,native]'
	touch $@

$(VENV)/.torch: $(VENV)/.made
	$(PIP) install numpy 'torch==$(TORCH_VERSION)'
	touch $@

venv: $(VENV)/.made  ## the virtual environment with all tools
torch: $(if $(filter no,$(TORCH)),$(VENV)/.made,$(VENV)/.torch)

demo: torch  ## hang a real job, diagnose it, compare with the truth (TORCH=no: without PyTorch)
	@$(BIN)/rankscope demo $(if $(filter no,$(TORCH)),--no-torch,)

test: torch  ## all tests, two beside each other: most of them wait for real jobs
	$(BIN)/python -m pytest -n 2 $(ARGS)

lint: venv  ## style
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks

types: venv  ## static types
	$(BIN)/mypy

check: lint types test  ## what CI runs

patients: torch  ## the matrix patients x launcher: verdict against truth
	$(BIN)/python tools/patients.py $(ARGS)

# Teaching cases are no part of the project; who has them keeps them beside the checkout.
CASES ?= $(wildcard ../shared/cases)
accuracy: venv  ## verdicts on a folder of teaching cases (CASES=DIR)
	@test -n '$(CASES)' || { echo "make: no folder ../shared/cases beside this checkout; make accuracy CASES=DIR (tools/accuracy.py --help says what must be in it)" >&2; exit 2; }
	$(BIN)/python tools/accuracy.py $(CASES)

learn: venv  ## weigh the words of known cases anew (corpus/, lessons/, tests/rules/text)
	$(PIP) install -e '.[learn]'
	$(BIN)/python tools/learn.py $(ARGS)

bench: torch  ## figures against the peers, measured in one run
	$(BIN)/python -m benchmarks

docs: venv  ## pages, and words of patterns, that follow from the code
	$(BIN)/python tools/pages.py
	$(BIN)/python tools/needles.py

clean:  ## forget the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
