# `make demo` and `make test` work on a fresh machine: both first make .venv.
PYTHON ?= python3
# pinned or current, see docs/installing.md; by default the one that PYTHON runs.
STACK ?=
VENV := .venv$(if $(STACK),-$(STACK))
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/installed
OPTIONAL := $(VENV)/optional

.PHONY: demo test test-all lint results environment locks compatibility docs pictures

environment: $(INSTALLED)

$(INSTALLED): tools/make_environment.py $(wildcard locks/*.txt)
	$(PYTHON) tools/make_environment.py $(VENV) $(STACK)
	@touch $@

# The Lee news corpus ships inside gensim: 293 stories, 65,000 tokens, no download.
demo: $(INSTALLED)
	$(RUN) -m preprocessing --format lee --min-count 3 --topic-min-count 5 --force --out data/demo
	$(RUN) train.py data/demo --out runs/demo
	$(RUN) evaluate.py runs/demo
	$(RUN) generate.py runs/demo
	@echo "Open runs/demo/report.html in a browser."

$(OPTIONAL): $(INSTALLED)
	-$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes \
	  -r locks/$$(cat $(VENV)/stack)-optional.txt
	@touch $@

# Every version and hash of both stacks, resolved anew for all Pythons that they run on.
UV := .uv/bin/uv pip compile --quiet --universal --generate-hashes --no-annotate \
  --no-header --no-emit-find-links

locks:
	$(PYTHON) -m venv .uv && .uv/bin/python -m pip install --quiet uv==0.13.9
	$(UV) --python-version 3.9 requirements.txt requirements-dev.txt \
	  requirements-optional.txt --output-file locks/pinned-optional.txt
	$(UV) --python-version 3.9 requirements.txt requirements-dev.txt \
	  --constraints locks/pinned-optional.txt --output-file locks/pinned.txt
	$(UV) --python-version 3.11 requirements-current.txt requirements-dev.txt \
	  requirements-optional-current.txt --output-file locks/current-optional.txt
	$(UV) --python-version 3.11 requirements-current.txt requirements-dev.txt \
	  --constraints locks/current-optional.txt --output-file locks/current.txt
	$(UV) --python-version 3.9 requirements-docs.txt --output-file locks/docs.txt

PYTEST := $(RUN) -m pytest -n auto --maxprocesses 4

test: $(OPTIONAL)
	$(PYTEST) -m "not slow"

# Kills, full disks, all settings, every model resumed and exported, the package too.
test-all: $(OPTIONAL)
	$(PYTEST)

# What each stack makes of texts, of its own RUN and of the other's.
COMPARED := runs/compatibility

compatibility:
	$(MAKE) environment STACK=pinned
	$(MAKE) environment STACK=current
	rm -rf $(COMPARED)
	set -e; for made in pinned current; do \
	  .venv-$$made/bin/python tools/compatibility.py make $(COMPARED)/$$made; \
	  for stack in pinned current; do .venv-$$stack/bin/python \
	    tools/compatibility.py ask $(COMPARED)/$$made $(COMPARED)/$$made-by-$$stack.json; done; \
	  .venv-pinned/bin/python tools/compatibility.py compare $(COMPARED)/$$made-by-*.json; \
	done

# The tables of README.md and of results/, from records.jsonl and published.csv.
results: $(INSTALLED)
	$(RUN) tools/results.py
	$(RUN) -m pytest tests/test_results.py

# The pictures in docs/ of our pages; needs chromium (apt-get install chromium).
# DATED: a RUN on documents with dates, which report-time.png is of.
PICTURED := runs/demo
DATED :=

pictures: $(INSTALLED)
	$(RUN) tools/pictures.py $(PICTURED) $(DATED)

# The pages as a site, in an environment of its own; a link that leads nowhere is refused.
DOCS := .venv-docs
PAGES := build/pages

$(DOCS)/installed: locks/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --require-hashes -r $<
	@touch $@

docs: $(DOCS)/installed
	rm -rf $(PAGES) && mkdir -p $(PAGES)
	git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C $(PAGES)
	$(DOCS)/bin/jupyter nbconvert --to markdown --log-level WARN $(PAGES)/notebooks/*.ipynb
	grep -rlF .ipynb $(PAGES) --include=*.md | xargs perl -pi -e 's/\.ipynb\)/.md)/g'
	NO_MKDOCS_2_WARNING=true $(DOCS)/bin/mkdocs build --strict
	@echo "Open build/site/index.html in a browser; to search in it, serve that folder."

lint: $(INSTALLED)
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
