# Everything that a person does by hand. Each target does all of its own set-up.
PYTHON ?= python3
BIN := .venv/bin
# Runs a command with the Docker engine that answers, or with a private one for as long as it takes.
ENGINE := $(PYTHON) scripts/engine.py

.PHONY: setup demo test test-slow lint image lock clean

setup:
	@$(PYTHON) scripts/setup.py

demo: setup
	@$(BIN)/python scripts/demo.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy -p scripts
	$(BIN)/lint-imports

# Every room, the real Storm and a real container; under ten minutes on two cores.
test: lint
	$(ENGINE) sh -c '$(BIN)/python scripts/image.py renderer && $(BIN)/pytest -m "not slow"'

# What takes longer: soaks, matrices, kills at a hundred moments.
test-slow: setup
	$(ENGINE) sh -c '$(BIN)/python scripts/image.py renderer && $(BIN)/pytest -m slow'

# Both images, hashed and locked. A private engine keeps them in .runtime for its next start.
image: setup
	@$(ENGINE) $(BIN)/python scripts/image.py

# Regenerates the lock files, with every version as new as it may be.
UV := $(or $(shell command -v uv),.runtime/uv/bin/uv)
COMPILE = $(UV) pip compile --generate-hashes --upgrade --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet
lock: setup
	test -x "$(UV)" || { $(PYTHON) -m venv .runtime/uv && .runtime/uv/bin/pip install --quiet uv; }
	$(COMPILE) pyproject.toml --group dev --extra openai --extra anthropic --universal --python-version 3.11 -o locks/trusted.txt
	$(COMPILE) pyproject.toml --universal --python-version 3.11 --constraint locks/trusted.txt -o locks/appliance.txt
	$(COMPILE) locks/storm.in --no-deps --python-version 3.13 --python-platform x86_64-manylinux_2_28 -o locks/storm.txt

clean:
	rm -rf .venv .runtime demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
