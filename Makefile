# make run    set everything up and open the app on the demo dataset
# make test   set everything up (Chromium and PostgreSQL included), check and test
# make nightly  the tests that take hours: every test, kills, fuzzing, many verdicts at once
# make weekly  other programs read exports and write imports; installs gigabytes of packages
# make lavis  the environment of LAVIS, for --model lavis:NAME
# make docs   build the documentation into site/
# make quick  tests that need no browser, no PostgreSQL and no models
# make coverage  which lines the quick tests reach; TESTS="tests/db tests/jobs" for others
# make bench  measure speed
# make bench-gpu  the same on an accelerator with 1,000 pairs, in minutes; DEVICE=cpu PAIRS=2 tries it
# make lock   requirements*.lock from requirements*.txt; make audit  their known weaknesses
# make demo   redraw and rescore the demo dataset;  make models  retrain the embedded models
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 7860
export GRADIO_ANALYTICS_ENABLED := False
export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false
# The programs that tests start would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lock audit run quick test tests nightly weekly coverage bench bench-gpu check lint types docs lavis install install-dev system-packages models demo screenshots clean

run: install
	$(BIN)/python app.py serve --port $(PORT)

test: install-dev system-packages lint types tests

# One process more than cores, at least three: tests of pages wait for a server and a browser.
WORKERS := $(shell $(PYTHON) -c "import os; print(min(6, max(2, os.cpu_count() or 2) + 1))")
PYTEST := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n $(WORKERS) \
	--dist loadfile --no-loadscope-reorder --max-worker-restart 0
# No test is run again: an unsteady test is a fault, often the product's.
tests: install-dev
	$(PYTEST) -m "not nightly and not weekly" -rfE

nightly: install-dev system-packages lint types
	$(PYTEST) -m "not weekly"
	$(BIN)/python -m tests.faults --times 10
	$(PYTEST) --hypothesis-profile thorough tests/datasets tests/traced_ui/test_any_request.py
	$(BIN)/python -m tests.browser.latency --soak 1000
	$(MAKE) audit

# Other programs read exports and write imports, and the wheel is installed alone: gigabytes of
# packages, below .cache.
weekly: install-dev
	$(BIN)/python -m pytest -m weekly tests/crossings tests/packaging

coverage: install-dev
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m coverage run -m pytest $(or $(TESTS),--quick)
	$(BIN)/python -m coverage report --skip-covered --sort=cover

quick: install-dev
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest --quick

bench: install
	$(BIN)/python app.py bench

# Elimination with BLIP's ITM and ITC and CLIP at the published sizes, random weights; then the demo, a
# vision-language model in each precision and training a captioner, with memory and equality.
DEVICE ?= cuda
PAIRS ?= 1000
bench-gpu: install
	$(BIN)/python app.py bench --device $(DEVICE) --pairs $(PAIRS) --no-reference
	$(BIN)/python -m research.bench.card_figures --device $(DEVICE) --pairs $(PAIRS)

check: lint types

lint: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-dev
	$(BIN)/pyrefly check

install: $(VENV)/installed
install-dev: $(VENV)/installed-dev

# One stamp per lock: pip runs again only when a file has changed. What a lock names is installed by
# its hash, and nothing else is. torch and torchvision follow, pinned alone: a machine may have builds
# of its own for its processor or accelerator.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TORCH := $(PIP) -c constraints.txt torch torchvision

$(VENV)/installed: requirements.lock constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps --require-hashes -r requirements.lock
	$(TORCH)
	touch $@

$(VENV)/installed-dev: requirements-dev.lock requirements.lock constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps --require-hashes -r requirements-dev.lock
	$(TORCH)
	touch $(VENV)/installed $@

# The locks from the requirements, within their ranges, for all systems. LOCK=--upgrade takes the
# newest releases, as .github/workflows/lock.yml does each week. What torch draws in is left to it.
LOCKING := .venv-lock
FOR_TORCH := torch torchvision triton cuda-bindings cuda-pathfinder cuda-toolkit nvidia-cublas \
	nvidia-cuda-cupti nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft \
	nvidia-cufile nvidia-curand nvidia-cusolver nvidia-cusparse nvidia-cusparselt-cu13 \
	nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx
COMPILE = $(LOCKING)/bin/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-header --no-annotate $(LOCK) -c constraints.txt \
	$(addprefix --no-emit-package ,$(FOR_TORCH))
lock: $(LOCKING)/installed
	$(COMPILE) requirements-dev.txt -o requirements-dev.lock
	$(COMPILE) -c requirements-dev.lock -o requirements.lock requirements.txt \
		requirements-postgres.txt requirements-quality.txt requirements-vlm.txt

# Known weaknesses of what the locks name; where the lists of them cannot be reached, it says so.
audit: $(LOCKING)/installed
	tests/audit.sh $(LOCKING)/bin/pip-audit requirements-dev.lock

$(LOCKING)/installed:
	$(PYTHON) -m venv $(LOCKING)
	$(LOCKING)/bin/python -m pip install --quiet "uv>=0.9,<1" "pip-audit>=2.10,<3"
	touch $@

# Chromium for the browser tests, PostgreSQL for the store's tests. Missing packages are installed
# with apt if it is available; otherwise a message lists them.
system-packages:
	@tests/system_packages.sh

# LAVIS in a separate environment, for --model lavis:NAME. It needs Python 3.11.
LAVIS_PYTHON ?= python3.11
LAVIS := .venv-lavis
lavis: $(LAVIS)/installed

$(LAVIS)/installed: requirements-lavis.txt
	$(LAVIS_PYTHON) -m venv $(LAVIS)
	$(LAVIS)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements-lavis.txt
	$(LAVIS)/bin/python -m pip install --quiet --no-deps torchvision==0.28.0 salesforce-lavis==1.0.2
	$(LAVIS)/bin/python -m pip install --quiet --no-deps --no-build-isolation fairscale==0.4.4
	touch $@

# The tables from the program, then the site; nothing is fetched.
docs: install-dev
	$(BIN)/python -m tests.docs.reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

models: install
	$(BIN)/python -m research.scenes.train

demo: install
	$(BIN)/python -m research.scenes.demo

screenshots: install-dev
	$(BIN)/python -m tests.browser.screenshots
	$(BIN)/python -m tests.browser.film
	$(BIN)/python -m tests.browser.readme_pictures

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
