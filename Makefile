SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV ?= .venv
NEWEST ?= .venv-newest
PROFILE ?= smoke
TEST_PROCESSES ?= 2

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
USED := $(VENV)/.usable
STUDIES := aes-rl-table-1,aes-rl-table-2,aes-rl-table-3,aes-rl-figure-1,aes-rl-figure-3
KNOWN := aes-rl-table-3,openai-es-table-3,esac-figure-2-left,goodai-lander,goodai-pendulum  # of results/reference
PYTHONS := python3 python3.13 python3.12 python3.11 python3.14
# What differs between the builds of PyTorch: not in the lock file.
TORCH := torch triton cuda-bindings cuda-pathfinder cuda-toolkit $(addprefix nvidia-, cublas cuda-cupti cuda-nvrtc \
  cuda-runtime cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help venv install lock demo docs reproduce test test-all test-data test-changed test-newest campaign lint format typecheck bench wheel clean

help: ## list the targets (default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

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

# Both run again when what they install changes. The lock file names all but PyTorch, with hashes; pip checks them.
# What users need is its first part.
PIP := $(BIN)/python -m pip install --quiet
install_locked = $(1) requirements.txt | $(PIP) --no-deps --require-hashes --requirement /dev/stdin && \
  $(PIP) torch --constraint constraints.txt && $(PIP) --no-deps --no-build-isolation --editable .

$(STAMP): setup.cfg pyproject.toml constraints.txt requirements.txt | venv
	$(call install_locked,cat)
	@touch $@

# What users need; nothing to do where everything is installed.
$(USED): setup.cfg pyproject.toml constraints.txt requirements.txt | venv
	@[ $(STAMP) -nt setup.cfg ] || { $(call install_locked,sed '/^# Extras/q'); }
	@touch $@

LOCK = $(BIN)/uv pip compile setup.cfg --universal --python-version 3.11 --constraint constraints.txt \
  --generate-hashes --no-annotate --quiet $(TORCH:%=--no-emit-package %) --custom-compile-command 'make lock' $(ARGS)
lock: $(STAMP) ## write requirements.txt again, as setup.cfg asks for; ARGS=--upgrade takes the newest versions
	$(PIP) uv
	$(LOCK) --extra dev --output-file requirements.txt
	$(LOCK) --constraint requirements.txt --output-file .used.txt
	@awk -F == 'FNR == NR { used[$$1]; next } /^[^ #]/ { rest = !($$1 in used) } rest' .used.txt requirements.txt > .rest.txt
	@(cat .used.txt; echo '# Extras, and the tools for development:'; cat .rest.txt) > requirements.txt
	@rm .used.txt .rest.txt

demo: $(USED) ## see something learn: figure, film and report in under two minutes
	$(BIN)/erlbench demo

reproduce: $(USED) ## run the AES-RL studies and write the report; PROFILE=smoke|laptop|paper
	@status=0; $(BIN)/erlbench run --study $(STUDIES) --profile $(PROFILE) || status=$$?; \
	if [ $$status -le 1 ]; then $(BIN)/erlbench report results/$(PROFILE) --reference results/reference; fi; \
	exit $$status

# Files begin in the order of tests/durations.toml. Hundreds of tests start Python: all use the same compiled files.
PYTEST := -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder
FAST := -m "not slow and not data"
unexport PYTHONDONTWRITEBYTECODE

test: $(STAMP) ## run the fast tests, TEST_PROCESSES=2 files at a time; ARGS=tests/pool runs some
	$(BIN)/python $(PYTEST) $(FAST) $(ARGS)

test-data: $(STAMP) ## test stored results and the numbers of pages
	$(BIN)/python $(PYTEST) -m data $(ARGS)

test-changed: $(STAMP) ## run the fast tests of the folders that differ from BASE=HEAD
	@changed=$$(git diff --name-only $(or $(BASE),HEAD) -- erlbench algorithms envs tests | \
	  sed -nE 's#^((erlbench|tests)/)?([a-z_]+)/.*#\3#p' | sort -u); \
	folders=$$(for name in $$changed; do [ ! -d tests/$$name ] || echo tests/$$name; done); \
	$(BIN)/python -m pytest $(FAST) $${folders:-tests/test_imports.py} $(ARGS)

test-all: $(STAMP) ## run all tests, slow ones and those of stored results included
	$(BIN)/python $(PYTEST) $(ARGS)

# The newest of everything, MuJoCo included; dm_control, which MuJoCo 4 breaks, is left out.
NEWEST_STAMP := $(NEWEST)/.installed
$(NEWEST_STAMP): setup.cfg pyproject.toml constraints.txt
	@[ -x $(NEWEST)/bin/python ] || $(or $(PYTHON),python3) -m venv $(NEWEST)
	@$(NEWEST)/bin/python -c 'import configparser; \
	  found = configparser.ConfigParser(); found.read("setup.cfg"); \
	  lines = found["options.extras_require"]["dev"].split("\n"); \
	  print(*[line for line in lines if not line.startswith(("dm_control", "mujoco", "shimmy"))], sep="\n")' \
	  > $(NEWEST)/requirements.txt
	$(NEWEST)/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable . \
	  --requirement $(NEWEST)/requirements.txt --constraint constraints.txt
	@touch $@

test-newest: $(NEWEST_STAMP) ## run the fast tests with the newest MuJoCo, numpy, pandas, Gymnasium; PYTHON=... chooses
	$(NEWEST)/bin/python $(PYTEST) $(FAST) $(ARGS)

campaign: $(STAMP) ## attack the suite for up to an hour (docs/reproducibility.md); ARGS='--only kills --seed 1'
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
	$(BIN)/erlbench report results/reference --study $(KNOWN) --reach --out site/report
	@echo 'site/index.html'

bench: $(STAMP) ## measure speed
	@[ -d benchmarks ] || { echo 'make bench: nothing to measure yet, there is no folder benchmarks/' >&2; exit 1; }
	$(BIN)/python -m benchmarks $(ARGS)

wheel: $(STAMP) ## build sdist and wheel into dist/
	$(BIN)/python -m build

clean: ## remove what was built; keeps .venv and results
	rm -rf build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find algorithms envs erlbench tests -name __pycache__ -type d -prune -exec rm -rf {} +
