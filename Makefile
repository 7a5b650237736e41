# Everything runs in .venv under the exact versions of constraints.txt. `make` alone lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := .[hub,encoders,onnx,gradients,report,serve,tensorboard,mlflow,ray,optuna,excel,segment]
FLOOR := .venv-floor
# What uses each dependency and extra; the whole suite would take as long as `make test`.
FLOOR_TESTS := tests/test_floors.py tests/test_golden.py tests/test_classifier.py tests/persistence tests/inference \
	tests/pretrained tests/evaluation/test_statistics.py tests/data tests/text tests/training tests/masks tests/models \
	tests/trackers tests/explain/test_gradients.py tests/export/test_hf.py tests/export/test_onnx.py \
	tests/export/test_encoder_onnx.py tests/report/model/test_figures.py tests/report/grid tests/serve/test_app.py \
	tests/serve/test_server.py tests/cli/test_main.py
# Two processes with a thread each: more threads than cores would wait for one another. Bytecode is kept whatever the
# environment says: the tests start many processes, and their own assertions are rewritten as they are compiled.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# The suites of attacks; a sample runs two at a time, each of which begins no attack after a while.
CHAOS := kills inputs folders requests

.DEFAULT_GOAL := help
.PHONY: help install demo test test-full test-floor floors check format lint types bench bench-processes bench-encoders bench-explain bench-metrics bench-cluster bench-grid bench-serve load-serve chaos chaos-cluster chaos-sample readme reproduction reproduction-check clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-18s %s\n", $$1, $$2}'

install: $(STAMP) ## Make .venv and install vmask with its tools

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable "$(EXTRAS)" --group dev
	touch $(STAMP)

demo: $(STAMP) ## Train CNN-base and CNN-VMASK on movie reviews, write demo/report.html (2 minutes)
	$(BIN)/vmask demo --out demo

test: $(STAMP) ## Run the tests: every room, every plug-in, without downloads and long products
	$(PYTEST) -m "not full"

test-full: $(STAMP) ## Run the other tests: downloads, browsers, processes, the rest of large products
	$(PYTEST) -m full

$(FLOOR)/.installed: pyproject.toml constraints-floor.txt
	test -x $(FLOOR)/bin/python || $(PYTHON) -m venv $(FLOOR)
	$(FLOOR)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(FLOOR)/bin/python -m pip install --quiet --constraint constraints-floor.txt --editable "$(EXTRAS)" --group test
	touch $@

test-floor: $(FLOOR)/.installed ## Run the core of the tests under the lowest versions (PYTHON=python3.11)
	OMP_NUM_THREADS=1 $(FLOOR)/bin/python -m pytest -n 2 --dist worksteal -m "not slow" -W default $(FLOOR_TESTS)

check: $(STAMP) format lint types test ## Format, lint, types and tests

format: $(STAMP) ## Check the format
	$(BIN)/ruff format --check .

lint: $(STAMP) ## Lint
	$(BIN)/ruff check .

types: $(STAMP) ## Check the types
	$(BIN)/mypy

bench: $(STAMP) ## Measure training speed as ratios (DATA=folder with trec and sst2)
	$(BIN)/python benchmarks/bench_training.py $(if $(DATA),--data-dir $(DATA))

bench-processes: $(STAMP) ## Measure training by two processes beside one (DATA with trec; ENCODER, a folder)
	$(BIN)/python benchmarks/bench_processes.py $(if $(DATA),--data-dir $(DATA)) $(if $(ENCODER),--encoder $(ENCODER))

bench-encoders: $(STAMP) ## Measure what VMASK costs an encoder (DATA as above; ENCODER, BASE and VMASK folders)
	$(BIN)/python benchmarks/bench_encoders.py $(if $(DATA),--data-dir $(DATA)) $(if $(ENCODER),--encoder $(ENCODER)) \
		$(if $(BASE),--base $(BASE)) $(if $(VMASK),--vmask $(VMASK))

bench-explain: $(STAMP) ## Measure explainers against lime and captum (DATA with sst2 and imdb; MODELS, MINILM folders)
	$(BIN)/python benchmarks/bench_explain.py $(if $(DATA),--data-dir $(DATA)) $(if $(MODELS),--models $(MODELS)) \
		$(if $(MINILM),--minilm $(MINILM))

bench-metrics: $(STAMP) ## Measure how long an evaluation takes (DATA with sst2; MODEL, a CNN trained on it)
	$(BIN)/python benchmarks/bench_evaluate.py $(if $(DATA),--data-dir $(DATA)) $(if $(MODEL),--model $(MODEL))

bench-cluster: $(STAMP) ## Measure workers of Ray against a plain loop (DATA with sst2; MODEL, or a small one is trained)
	$(BIN)/python benchmarks/cluster.py $(if $(DATA),--data-dir $(DATA)) $(if $(MODEL),--model $(MODEL))

bench-grid: $(STAMP) ## Measure what an engine adds to every cell of a grid (EXPERIMENT, a file: what it would take on a cluster)
	$(BIN)/python benchmarks/grid_engines.py
	$(if $(EXPERIMENT),$(BIN)/python benchmarks/grid_engines.py --project $(EXPERIMENT) $(if $(DATA),--data-dir $(DATA)))

load-serve: $(STAMP) ## Ten minutes of mixed load on the server (MODEL, a model folder, or a small one is trained)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/load_serve.py --minutes 10 $(if $(MODEL),--model $(MODEL))

bench-serve: $(STAMP) ## Measure the server under load (MODEL, a CNN that was trained)
	$(BIN)/python benchmarks/bench_serve.py $(if $(MODEL),--model $(MODEL))

chaos: $(STAMP) ## Attack vmask from outside; rewrites chaos/results.json and docs/reliability.md
	$(BIN)/python -m chaos --out chaos/results.json; code=$$?; $(BIN)/python scripts/update_reliability.py; exit $$code

chaos-cluster: $(STAMP) ## Kill workers, nodes and drivers of a grid on a cluster; rewrites chaos/cluster.json and docs/reliability.md
	$(BIN)/python -m chaos.cluster --out chaos/cluster.json; code=$$?; $(BIN)/python scripts/update_reliability.py; exit $$code

chaos-sample: $(STAMP) ## Run a sample of these attacks: three minutes at most
	printf '%s\n' $(CHAOS) | xargs -n 1 -P 2 $(BIN)/python -m chaos --share 0.05 --seconds 35

readme: $(STAMP) ## Rewrite the generated parts of README.md (runs the demo and the tour)
	$(BIN)/python scripts/update_readme.py --run

reproduction: $(STAMP) ## Rewrite docs/reproduction.md, its figures and the README's tables from reproduction/results
	$(BIN)/python -m reproduction
	$(BIN)/python scripts/update_readme.py

reproduction-check: $(STAMP) ## Hold the committed results against the paper, number by number, claim by claim
	$(BIN)/python -m reproduction check

floors: $(STAMP) ## Rewrite constraints-floor.txt from the floors in pyproject.toml
	$(BIN)/python scripts/update_floors.py

clean: ## Remove the virtual environments and caches
	rm -rf $(VENV) $(FLOOR) .mypy_cache .ruff_cache .pytest_cache .hypothesis
