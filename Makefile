SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV ?= .venv
PROFILE ?= smoke
TEST_PROCESSES ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
USED := $(VENV)/.usable
STUDIES := aes-rl-table-1,aes-rl-table-2,aes-rl-table-3,aes-rl-figure-1,aes-rl-figure-3
KNOWN := aes-rl-table-3,openai-es-table-3,esac-figure-2-left,goodai-lander,goodai-pendulum  # of results/reference
PYTHONS := python3 python3.13 python3.12 python3.11 python3.14
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help venv install demo docs reproduce test campaign lint format typecheck bench wheel clean

help: ## list the targets (default)
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## create .venv and install everything; PYTHON=... chooses the interpreter

venv:
	@if ! [ -x $(BIN)/python ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  for python in $(or $(PYTHON),$(PYTHONS)); do \
	    if "$$python" -c '$(USABLE)' >/dev/null 2>&1; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$${found:-}" ]; then \
	    echo 'erlbench needs Python 3.11 or later with its venv module. Install it, then run make again:' >&2; \
	    echo '  Debian, Ubuntu:  sudo apt install python3 python3-venv' >&2; \
	    echo '  Fedora:          sudo dnf install python3' >&2; \
	    echo '  Arch:            sudo pacman -S python' >&2; \
	    echo 'or name another interpreter: make install PYTHON=/path/to/python3.12' >&2; \
	    exit 1; \
	  fi; \
	  echo "Creating $(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv $(VENV); \
	fi

# Both run again when what they install changes.
$(STAMP): setup.cfg pyproject.toml constraints.txt | venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

# What users need; nothing to do where everything is installed.
$(USED): setup.cfg pyproject.toml constraints.txt | venv
	@[ $(STAMP) -nt setup.cfg ] || $(BIN)/python -m pip install --quiet --editable . --constraint constraints.txt
	@touch $@

demo: $(USED) ## see something learn: figure, film and report in under two minutes
	$(BIN)/erlbench demo

reproduce: $(USED) ## run the AES-RL studies and write the report; PROFILE=smoke|laptop|paper
	@status=0; $(BIN)/erlbench run --study $(STUDIES) --profile $(PROFILE) || status=$$?; \
	if [ $$status -le 1 ]; then $(BIN)/erlbench report results/$(PROFILE) --reference results/reference; fi; \
	exit $$status

test: $(STAMP) ## run all tests, TEST_PROCESSES=2 at a time; ARGS='-m "not slow"' leaves the slow ones out
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile $(ARGS)

campaign: $(STAMP) ## attack the suite for up to an hour (docs/reliability.md); ARGS='--only kills --seed 1'
	$(BIN)/python -m tests.campaign $(ARGS)

lint: $(STAMP) ## check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP) ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

typecheck: $(STAMP) ## check types
	$(BIN)/mypy

docs: $(STAMP) ## build the documentation site in site/, with the report of the reference results; check its links
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/erlbench report results/reference --study $(KNOWN) --profile paper --reach --out site/report
	@echo 'site/index.html'

bench: $(STAMP) ## measure speed
	@[ -d benchmarks ] || { echo 'make bench: nothing to measure yet, there is no folder benchmarks/' >&2; exit 1; }
	$(BIN)/python -m benchmarks $(ARGS)

wheel: $(STAMP) ## build sdist and wheel into dist/
	$(BIN)/python -m build

clean: ## remove what was built; keeps .venv and results
	rm -rf build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find algorithms envs erlbench tests -name __pycache__ -type d -prune -exec rm -rf {} +
