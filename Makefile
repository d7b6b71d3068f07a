# Everything that one does with a clone. Needs Python 3.10 or newer and make, nothing else.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
EXTRA ?= dev
CONSTRAINTS ?= constraints/newest.txt
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: help
help:  ## this list
	@echo "otel-loopguard: make TARGET [PYTHON=python3.12]"
	echo
	sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS='|' read -r target words; do
	  printf '  make %-12s %s\n' "$$target" "$$words"
	done

.PHONY: install
install: $(INSTALLED)  ## make .venv with everything for development
	@echo "installed: $$($(BIN)/python --version) in $(VENV), versions from $(CONSTRAINTS)"
	echo "next: make demo, make test, make check, $(BIN)/loopguard --help"

# The versions come from the constraints file, so the same clone installs the same things next month.
$(INSTALLED): pyproject.toml $(CONSTRAINTS)
	@found=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || {
	  echo "error: \`$(PYTHON)\` does not run" >&2
	  echo "hint: install Python 3.10 or newer (Debian, Ubuntu: apt install python3 python3-venv) or name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2
	  exit 2
	}
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
	  echo "error: \`$(PYTHON)\` is Python $$found, otel-loopguard needs 3.10 or newer" >&2
	  echo "hint: install one (Debian, Ubuntu: apt install python3.12 python3.12-venv) and name it: make $(MAKECMDGOALS) PYTHON=python3.12" >&2
	  exit 2
	fi
	if ! $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then
	  echo "error: Python $$found at \`$(PYTHON)\` cannot make virtual environments" >&2
	  echo "hint: install its venv package (Debian, Ubuntu: apt install python$$found-venv)" >&2
	  exit 2
	fi
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then
	  echo "making $(VENV) with Python $$found"
	  $(PYTHON) -m venv --clear $(VENV)
	fi
	echo "installing otel-loopguard[$(EXTRA)] with the versions of $(CONSTRAINTS)"
	test -t 1 && terminal=1 || terminal=0
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c $(CONSTRAINTS) -e '.[$(EXTRA)]' |
	  awk -v terminal=$$terminal '
	    /^Collecting/ { count++; if (terminal) { printf "\r\033[K  %d packages, now %s", count, $$2; fflush() } }
	    /^Installing collected/ { if (terminal) printf "\r\033[K"; print "  writing " count + 0 " packages"; fflush() }'
	touch $@

.PHONY: demo
demo: $(INSTALLED)  ## a stuck agent beside a healthy one, and one run over three processes, over real OTLP
	@$(BIN)/python -m demo $(ARGS)
	$(BIN)/python -m demo.fleet

ONCE ?=
COLLECTOR ?=

.PHONY: demo-full
demo-full: $(INSTALLED)  ## the same through a real Collector into Prometheus and files, until Ctrl-C (ONCE=1: checks)
	@exec $(BIN)/python -m demo.full $(if $(filter-out 0 no false,$(ONCE)),--once) $(if $(COLLECTOR),--collector $(COLLECTOR)) $(ARGS)

.PHONY: test
test: $(INSTALLED)  ## all tests (ARGS="-k cycle" for some)
	@echo "running the tests with $$($(BIN)/python --version)"
	$(BIN)/python -m pytest $(or $(ARGS),-n auto)

# The compiled package stands before the sources on the path; tests/test_compiled.py says whether it is what runs.
COMPILED_TESTS := tests/core tests/conventions tests/emit tests/keys tests/live tests/otel tests/replay tests/stream
COMPILED_TESTS += tests/guards tests/test_behaviour.py tests/test_compiled.py tests/test_correlate.py
COMPILED_TESTS += tests/service/test_behaviour_stream.py tests/service/test_detector.py tests/service/test_exchange.py
COMPILED_TESTS += tests/service/test_reading.py tests/service/test_sinks.py tests/service/test_store.py
COMPILED_TESTS += tests/test_fingerprint_vectors.py tests/test_privacy.py tests/test_redact.py

.PHONY: compiled
compiled: $(INSTALLED)  ## compile the hot modules with mypyc into .cache/compiled (needs a C compiler; once some minutes)
	@$(BIN)/python compiling.py

.PHONY: test-compiled
test-compiled: $(INSTALLED)  ## the tests of what is compiled, on the compiled package (ARGS="tests/core" for some)
	@place=$$($(BIN)/python compiling.py)
	echo "running the tests on $$place"
	PYTHONPATH=$$place LOOPGUARD_TEST_COMPILED=$$place \
	  $(BIN)/python -m pytest -o pythonpath="$$place ." $(or $(ARGS),-n auto $(COMPILED_TESTS))

GUARDS ?= newest older
GUARDS_OLDER := langchain==1.0.8 langgraph==1.0.5 langgraph-prebuilt==1.0.5 openai-agents==0.9.3 pydantic-ai-slim==1.29.0
GUARDS_OLDER += mcp==1.23.3 anthropic==0.79.0 openai==2.19.0 opentelemetry-api==1.38.0 opentelemetry-sdk==1.38.0

# Frameworks pin what they share, so each set of versions has an environment of its own. Their own warnings are not ours.
.PHONY: test-guards
test-guards:  ## guards in the frameworks themselves, newest and older (GUARDS=newest for one)
	@for set in $(GUARDS); do
	  $(MAKE) --no-print-directory install EXTRA=test,guards CONSTRAINTS=constraints/guards-$$set.txt VENV=.venv-guards-$$set
	  echo "running the guards' tests with the frameworks of constraints/guards-$$set.txt"
	  LOOPGUARD_TEST_FRAMEWORKS=all .venv-guards-$$set/bin/python -m pytest -W default tests/guards tests/test_readme.py $(ARGS)
	done

.PHONY: test-vendors
test-vendors: $(INSTALLED)  ## the packages of vendors, each in an environment of its own (ARGS="-k logfire")
	@$(BIN)/python -m pip install -q --disable-pip-version-check uv
	echo "making environments in .cache/vendors where they are missing"
	$(BIN)/python -m pytest -m vendors tests/vendors $(ARGS)

.PHONY: test-senders
test-senders: $(INSTALLED)  ## the detector against the SDKs of Node and Go (ARGS="-k node")
	@mkdir -p .cache/senders/node .cache/senders/go
	if command -v npm >/dev/null; then
	  cp tests/senders/package.json tests/senders/agent.mjs .cache/senders/node/
	  (cd .cache/senders/node && npm install --no-audit --no-fund --silent)
	else
	  echo "no npm, so Node is left out (Debian, Ubuntu: apt install nodejs npm)" >&2
	fi
	if command -v go >/dev/null; then
	  cp tests/senders/go/main.go .cache/senders/go/
	  (cd .cache/senders/go && { test -f go.mod || go mod init agent; } && go mod tidy && go build -o agent .)
	else
	  echo "no go, so Go is left out (https://go.dev/dl/)" >&2
	fi
	$(BIN)/python -m pytest tests/senders $(ARGS)

.PHONY: collector
collector:  ## find or build the OpenTelemetry Collector of collector_config/builder.yaml (needs Go)
	@$(PYTHON) collector_config/build.py

.PHONY: contrib
contrib:  ## find or build what can be had of the stock distribution (collector_config/contrib.yaml; needs Go)
	@$(PYTHON) collector_config/build.py contrib.yaml

.PHONY: test-collector
test-collector: $(INSTALLED)  ## the recipes' tests with a Collector of your own (COLLECTOR=/usr/bin/otelcol-contrib)
	@$(if $(COLLECTOR),,$(error say which: make test-collector COLLECTOR=$$(make -s contrib)))
	COLLECTOR="$(COLLECTOR)" $(BIN)/python -m pytest $(or $(ARGS),tests/collector)

.PHONY: dashboard
dashboard: $(INSTALLED)  ## write collector_config/grafana/dashboard.json anew
	@$(BIN)/python -m collector_config.grafana.make_dashboard

.PHONY: jaeger
jaeger:  ## find or build Jaeger for the queries of collector_config/QUERIES.md (needs Go, up to an hour)
	@$(PYTHON) collector_config/jaeger.py

.PHONY: test-jaeger
test-jaeger: $(INSTALLED)  ## the queries for Jaeger and ClickHouse in the real ones (builds Jaeger; chDB in .cache/chdb)
	@$(BIN)/python collector_config/jaeger.py
	if ! cmp -s tests/collector/chdb.txt .cache/chdb/requirements.txt; then
	  echo "installing chDB (0.5 GB) in .cache/chdb"
	  $(PYTHON) -m venv --clear .cache/chdb
	  .cache/chdb/bin/python -m pip install -q --disable-pip-version-check --no-deps -r tests/collector/chdb.txt
	  cp tests/collector/chdb.txt .cache/chdb/requirements.txt
	fi
	LOOPGUARD_TEST_BACKENDS=true $(BIN)/python -m pytest -n0 tests/collector/test_jaeger.py tests/collector/test_clickhouse.py $(ARGS)

.PHONY: test-kubernetes
test-kubernetes: $(INSTALLED)  ## the manifests, by Kubernetes' own schemas (108 MB in .cache/kubernetes)
	@LOOPGUARD_TEST_KUBERNETES=true $(BIN)/python -m pytest -n0 tests/collector/test_kubernetes.py $(ARGS)

.PHONY: check
check: $(INSTALLED)  ## lint, format, types and the import contract
	@failed=
	step() {
	  echo "check: $$*"
	  $(BIN)/"$$@" || failed="$$failed $$1"
	}
	step ruff check .
	step ruff format --check .
	step mypy
	step lint-imports --no-logo
	if [ -n "$$failed" ]; then
	  echo "check: failed:$$failed" >&2
	  exit 1
	fi
	echo "check: ruff, format, types and imports are clean"

.PHONY: format
format: $(INSTALLED)  ## write the code in its canonical form
	@$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

.PHONY: lock
lock: $(INSTALLED)  ## resolve all constraints files anew
	@$(BIN)/python -m pip install -q uv
	compile() { $(BIN)/uv pip compile -q --universal --python-version 3.10 --no-annotate --no-header --upgrade pyproject.toml "$$@"; }
	echo "lock: constraints/newest.txt"
	compile --extra dev -o constraints/newest.txt
	echo "lock: constraints/oldest.txt"
	bounds=$$(mktemp)
	trap 'rm -f $$bounds' EXIT
	compile --no-deps --resolution lowest-direct -o $$bounds >/dev/null
	# the oldest opentelemetry-instrument imports pkg_resources, which setuptools 80 warns about and 82 dropped
	echo 'setuptools<80' >> $$bounds
	compile --extra test -c $$bounds -o constraints/oldest.txt
	echo "lock: constraints/guards-newest.txt"
	compile --extra test --extra guards -o constraints/guards-newest.txt
	echo "lock: constraints/guards-older.txt"
	# Pydantic AI 1.29 imports what the API dropped in 1.40, and LangGraph 1.0.5 does not bound its own parts
	printf '%s\n' $(GUARDS_OLDER) > $$bounds
	compile --extra test --extra guards -c $$bounds -o constraints/guards-older.txt
	git --no-pager diff --stat -- constraints

.PHONY: clean
clean:  ## remove what the other targets made
	@rm -rf .venv .venv-* .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	echo "clean: removed the virtual environments and caches"
