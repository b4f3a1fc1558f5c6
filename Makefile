# make demo | test | test-policy | check | bench | verify | mutations | docs | lock | clean
PYTHON ?= python3
BIN := .venv/bin
# Byte code is kept, whatever the shell says: else each process of a test compiles all that it imports, a second of NumPy,
# Numba, Dask and the tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-policy check bench verify mutations docs setup lock clean

demo: .venv/demo.done  ## set up, simulate a queue that tips over, and write a page about it
	rm -rf out/demo
	$(BIN)/vinesim sweep examples/tipping_point.yaml --out out/demo
	$(BIN)/vinesim report out/demo

test: .venv/dev.done  ## set up and run the tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup tests

test-policy: .venv/dev.done  ## check one policy on both engines: make test-policy NAME=rb_fifo
	$(BIN)/python -m pytest -n 0 --policy $(NAME) tests/policies tests/properties

check: .venv/dev.done  ## lint, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev.done  ## measure, beside the peers
	$(BIN)/python -m benchmarks

verify: .venv/dev.done  ## 10,000 scenarios, closed forms, killed sweeps and plans, damaged files, slow tests: an hour
	$(BIN)/python -m verification
	$(BIN)/python -m verification.scenarios
	$(BIN)/python -m verification.crossed 1000
	$(BIN)/python -m verification.kill 40
	$(BIN)/python -m verification.kill 20 --of plan
	$(BIN)/python -m verification.bitflips
	$(BIN)/python -m verification.fuzz --seconds 600
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow tests

mutations: .venv/dev.done  ## small changes of meaning, each of which a test must notice: an hour
	$(BIN)/python -m verification.mutations

docs: .venv/dev.done  ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

setup: .venv/dev.done

# uv itself comes from a locked file; it then installs what the other locks name, in seconds.
.venv/uv.done: requirements/uv.lock
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.lock
	touch $@

.venv/demo.done: .venv/uv.done requirements/run.lock pyproject.toml
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/run.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/dev.done: .venv/uv.done requirements/dev.lock pyproject.toml
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/dev.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	touch $@ .venv/demo.done

COMPILE := $(BIN)/uv pip compile -q --universal --generate-hashes --python-version 3.11 --custom-compile-command "make lock"
lock: .venv/uv.done  ## renew requirements/*.lock
	$(COMPILE) requirements/uv.in -o requirements/uv.lock
	$(COMPILE) pyproject.toml requirements/build.in -o requirements/run.lock
	$(COMPILE) pyproject.toml --extra dev -o requirements/dev.lock

clean:
	rm -rf .venv out docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
