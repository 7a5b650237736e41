# Everything runs in .venv under the exact versions of constraints.txt. `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two processes with a thread each: more threads than cores would wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow test-all check format lint types bench bench-encoders bench-explain bench-metrics bench-serve readme reproduction clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

install: $(STAMP) ## Make .venv and install vmask with its tools

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[hub,encoders,onnx,gradients,report,serve]" --group dev
	touch $(STAMP)

demo: $(STAMP) ## Train CNN-base and CNN-VMASK on movie reviews, write demo/report.html (2 minutes)
	$(BIN)/vmask demo --out demo

test: $(STAMP) ## Run the tests that need no download and no minutes
	$(PYTEST) -m "not slow"

test-slow: $(STAMP) ## Run the tests that download or take minutes
	$(PYTEST) -m slow

test-all: $(STAMP) ## Run every test, those that download or take minutes too
	$(PYTEST)

check: $(STAMP) format lint types test ## Format, lint, types and tests

format: $(STAMP) ## Check the format
	$(BIN)/ruff format --check .

lint: $(STAMP) ## Lint
	$(BIN)/ruff check .

types: $(STAMP) ## Check the types
	$(BIN)/mypy

bench: $(STAMP) ## Measure training speed as ratios (DATA=folder with trec and sst2)
	$(BIN)/python benchmarks/bench_training.py $(if $(DATA),--data-dir $(DATA))

bench-encoders: $(STAMP) ## Measure what VMASK costs an encoder (DATA as above; ENCODER, BASE and VMASK folders)
	$(BIN)/python benchmarks/bench_encoders.py $(if $(DATA),--data-dir $(DATA)) $(if $(ENCODER),--encoder $(ENCODER)) \
		$(if $(BASE),--base $(BASE)) $(if $(VMASK),--vmask $(VMASK))

bench-explain: $(STAMP) ## Measure explainers against lime and captum (DATA with sst2 and imdb; MODELS, MINILM folders)
	$(BIN)/python benchmarks/bench_explain.py $(if $(DATA),--data-dir $(DATA)) $(if $(MODELS),--models $(MODELS)) \
		$(if $(MINILM),--minilm $(MINILM))

bench-metrics: $(STAMP) ## Measure how long an evaluation takes (DATA with sst2; MODEL, a CNN trained on it)
	$(BIN)/python benchmarks/bench_evaluate.py $(if $(DATA),--data-dir $(DATA)) $(if $(MODEL),--model $(MODEL))

bench-serve: $(STAMP) ## Measure the server under load (MODEL, a CNN that was trained)
	$(BIN)/python benchmarks/bench_serve.py $(if $(MODEL),--model $(MODEL))

readme: $(STAMP) ## Rewrite the generated parts of README.md (runs the demo and the tour)
	$(BIN)/python scripts/update_readme.py --run

reproduction: $(STAMP) ## Rewrite docs/reproduction.md, its figures and the README's tables from results/
	$(BIN)/python scripts/update_reproduction.py
	$(BIN)/python scripts/update_readme.py

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
