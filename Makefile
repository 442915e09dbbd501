# `make demo` and `make test` work on a fresh machine: both first make .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/installed
OPTIONAL := $(VENV)/optional

.PHONY: demo test test-all lint results environment compatibility

environment: $(INSTALLED)

$(INSTALLED): requirements.txt requirements-dev.txt
	$(PYTHON) tools/make_environment.py $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

# The Lee news corpus ships inside gensim: 300 stories, 67,000 tokens, no download.
demo: $(INSTALLED)
	$(RUN) -m preprocessing --format lee --min-count 3 --topic-min-count 5 --force --out data/demo
	$(RUN) train.py data/demo --model tcnlm --out runs/demo --set units=100 num_topics=10 epochs=40
	$(RUN) evaluate.py runs/demo
	$(RUN) generate.py runs/demo --temperature 0.7 --no-unk
	@echo "Open runs/demo/report.html in a browser."

$(OPTIONAL): $(INSTALLED) requirements-optional.txt
	-$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-optional.txt
	@touch $@

PYTEST := $(RUN) -m pytest -n auto --maxprocesses 4

test: $(OPTIONAL)
	$(PYTEST) -m "not slow"

# Kills, full disks, all settings, every model resumed and exported, the package too.
test-all: $(OPTIONAL)
	$(PYTEST)

# What the demo's SavedModel answers here, and under the newest TensorFlow.
NEWER := .venv-newer
SAVED_MODEL ?= runs/demo/saved_model

compatibility: $(INSTALLED)
	$(PYTHON) -m venv $(NEWER)
	$(NEWER)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade tensorflow
	$(RUN) tools/compatibility.py ask $(SAVED_MODEL) $(NEWER)/pinned.json
	$(NEWER)/bin/python tools/compatibility.py ask $(SAVED_MODEL) $(NEWER)/newer.json
	$(RUN) tools/compatibility.py compare $(NEWER)/pinned.json $(NEWER)/newer.json

# The tables of README.md and of results/, from their records and published.csv.
results: $(INSTALLED)
	$(RUN) tools/results.py

lint: $(INSTALLED)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
