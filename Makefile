# Two commands for a newcomer: `make demo` and `make test`. Everything else is for people who change specsim.
PYTHON ?= python3
BIN := .venv/bin
DEMO := llama3.1-8b-h100-eagle3
GALLERY := $(DEMO) azure-conversation-h100-eagle3 theory-h100-ideal

.PHONY: help demo test test-quick test-backends check bench gallery published operators clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "specsim needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fast,parquet,optimize,test,dev]'
	$(BIN)/specsim doctor > /dev/null  # compiles the simulator, once
	@touch .venv/installed

demo: .venv/installed  ## does speculation pay for Llama-3.1-8B with an EAGLE-3 head on an H100?
	$(BIN)/specsim curve scenarios/$(DEMO).yaml --out out/$(DEMO) --force

test: .venv/installed  ## every test, slow ones included
	$(BIN)/python -m pytest -n 2 --dist loadfile -q

test-quick: .venv/installed  ## the tests without the slow ones
	$(BIN)/python -m pytest -n 2 --dist loadfile -q -m 'not slow'

test-backends: .venv/installed  ## sweeps on a local Ray and a local Dask cluster (installs both, 300 MB)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray,dask]'
	$(BIN)/python -m pytest -q tests/studies/sweep/test_command.py -k cluster

gallery: .venv/installed  ## redraw the figures in plots/ with the tables behind them
	for name in $(GALLERY); do $(BIN)/specsim curve $$name --out plots/$$name --force || exit; done

bench: .venv/installed  ## speeds of the verifier, the engine and sweeps
	$(BIN)/python -m pytest benchmarks -q --benchmark-columns=min,median,ops
	$(BIN)/python benchmarks/million.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/whole_process.py

published: .venv/installed  ## predicted against published and our own measurements (a minute); renews docs/accuracy/ and the model's errors
	$(BIN)/specsim validate --out docs/accuracy --force
	$(BIN)/specsim validate --measurements published --general --out out/general --force
	$(BIN)/specsim validate --measurements a100-llama-3.1-8b-eagle3-runs --out out/runs --force
	$(BIN)/python benchmarks/model_error.py docs/accuracy/accuracy.csv out/general/accuracy.csv out/runs/accuracy.csv \
	  hardware/measured/residuals.csv > docs/accuracy.md

operators: .venv/installed  ## single operators against measured tables (needs the extra operators); renews docs/operators/
	$(BIN)/specsim validate --operators --out docs/operators --force
	$(BIN)/python benchmarks/fit_operators.py > docs/operators/fits.txt

check: .venv/installed  ## lint, format, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:  ## remove what the commands above made
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
