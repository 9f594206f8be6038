# Everything that a person does by hand. Each target does all of its own set-up.
PYTHON ?= python3
BIN := .venv/bin

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
	$(PYTHON) scripts/engine.py sh -c '$(BIN)/python scripts/image.py && $(BIN)/pytest -m "not slow"'

# What takes longer: soaks, matrices, kills at a hundred moments.
test-slow: setup
	$(PYTHON) scripts/engine.py sh -c '$(BIN)/python scripts/image.py && $(BIN)/pytest -m slow'

# The renderer's image, hashed and locked; needs an engine that stays (DOCKER_HOST or the usual socket).
image: setup
	@$(BIN)/python scripts/image.py

# Regenerates the lock files; needs uv.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 $(LOCK_FLAGS) -o locks/trusted.txt
	uv pip compile locks/storm.in --no-deps --python-version 3.13 --python-platform x86_64-manylinux_2_28 $(LOCK_FLAGS) -o locks/storm.txt

LOCK_FLAGS := --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet

clean:
	rm -rf .venv .runtime demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
