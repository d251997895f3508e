# Everything runs in .venv; a stamp file says for which pyproject.toml and constraints it was made.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEV    := $(VENV)/.installed-dev
ARGS   ?=
JOBS   ?= auto

.PHONY: help play test test-slow lint types wheel clean janggi-differential openings-check screenshots

help:
	@echo "make play    set everything up and let 16 agents play (more options: make play ARGS='--max-plies 40')"
	@echo "make test    set everything up and run the tests"
	@echo "make janggi-differential  play 20,000 random plies of each janggi rule set beside pyffish (more: ARGS='--seed 2')"
	@echo "make lint    ruff and mypy"
	@echo "make wheel   build the wheel into dist/"
	@echo "make screenshots  draw the pictures of the README anew (needs Chromium: CHROMIUM=/usr/bin/chromium)"
	@echo "make clean   remove .venv and what was built"
	@echo "make openings-check   ask Stockfish whether the chess openings are balanced (some minutes)"

play: $(STAMP)
	$(BIN)/arena play --agents 16 $(ARGS)

test: $(DEV)
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(ARGS)

janggi-differential: $(DEV)
	$(BIN)/python -m games.janggi.differential $(ARGS)

test-slow: $(DEV)
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: $(DEV)
	rm -rf build dist
	$(BIN)/python -m build --wheel

openings-check: $(STAMP)
	$(BIN)/python -m arena.tournament.openings_check $(ARGS)

screenshots: $(DEV)
	$(BIN)/python -m arena.web.screenshots $(ARGS)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "arena needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable .
	touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@ $(STAMP)

clean:
	rm -rf $(VENV) build dist *.egg-info
