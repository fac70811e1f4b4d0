# Everything a person or CI runs. Each target makes what it needs; `make chat` and `make test` are the two to know.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
STAMP := $(VENV)/.installed
PEERS := tests/node/node_modules/.installed
SERVERS := build/peers/servers/.installed
LLAMA := build/peers/llama/.installed
SOURCES := services tests evals protos/regenerate.py packaging verifier
SLOW := not slow and not durability and not fuzz and not stack

.PHONY: chat test check lint types imports protos-fresh unit test-durability test-fuzz test-stack gate bench bench-peers \
	protos lock fix clean

chat: $(STAMP)  ## talk with the agent; no key, no account
	@$(BIN)/agent-host chat

test: check unit  ## what must pass before a commit

check: lint imports protos-fresh types

$(STAMP): requirements.lock pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock && \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $(STAMP)

$(PEERS): tests/node/package-lock.json
	@if command -v npm >/dev/null 2>&1; then \
		cd tests/node && npm install --silent --no-save --no-audit --no-fund && touch node_modules/.installed ; \
	else \
		echo 'npm is not installed: tests against peers that run on Node are skipped' ; \
	fi

$(SERVERS):  # MCP servers by other people, apart from what we depend on; without them their tests are skipped
	@$(PYTHON) -m venv build/peers/servers && \
		build/peers/servers/bin/python -m pip install --quiet --disable-pip-version-check \
			mcp-server-time==2026.10.19 mcp-server-fetch==2026.10.24 && touch $(SERVERS) || \
		echo 'mcp-server-time and mcp-server-fetch cannot be installed: tests against them are skipped'

$(LLAMA):  # llama.cpp's own server, as a wheel, for a turn of a real one; without it its tests are skipped
	@$(PYTHON) -m venv build/peers/llama && \
		build/peers/llama/bin/python -m pip install --quiet --disable-pip-version-check xllamacpp==2026.10.11549 && \
		touch $(LLAMA) || echo 'xllamacpp cannot be installed: tests against a llama.cpp server are skipped'

lint: $(STAMP)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)

imports: $(STAMP)
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy $(SOURCES)

protos-fresh: $(STAMP)
	$(BIN)/python protos/regenerate.py --check

unit: $(STAMP) $(PEERS)
	$(BIN)/pytest -m "$(SLOW)" -n 2 --dist loadfile

test-durability: $(STAMP) $(PEERS) $(SERVERS) $(LLAMA)  ## kill loops, power cuts, crash states, failing calls
	$(BIN)/pytest -m "(durability or slow) and not fuzz" -n 2 --dist worksteal -rP

test-fuzz: $(STAMP)  ## long differential and property runs
	$(BIN)/pytest -m fuzz -n 2 --dist loadfile

test-stack: $(STAMP)  ## the compose stack on a real engine; needs root
	bash tests/stack/run.sh

gate: $(STAMP)  ## may this be released? add ARGS=--without-judge where no model is set
	$(BIN)/python -m evals gate $(ARGS)

bench: $(STAMP)  ## figures, as ratios
	$(BIN)/python -m evals.bench

bench-peers: $(STAMP)  ## memory servers that people use, to be measured beside ours
	mkdir -p build/peers
	cd build/peers && npm install --silent --no-save --no-audit --no-fund @modelcontextprotocol/server-memory@2026.8.31
	$(PYTHON) -m venv build/peers/mem0 && build/peers/mem0/bin/python -m pip install --quiet mem0ai==2.2.1
	@for python in $(PYTHON) python3.14 python3.13 python3.12 "$$(pyenv root 2>/dev/null)"/versions/3.1[2-9].*/bin/python ; do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue ; \
		"$$python" -m venv build/peers/basic-memory && \
			build/peers/basic-memory/bin/python -m pip install --quiet basic-memory==0.24.1 ; exit ; \
	done ; echo 'Python 3.12 or newer is not there: basic-memory is left out'

protos: $(STAMP)  ## write the generated stubs anew
	$(BIN)/python protos/regenerate.py

lock:  ## resolve pyproject.toml into requirements.lock
	uv pip compile pyproject.toml --extra all --group dev --generate-hashes --universal --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --quiet --output-file requirements.lock

fix: $(STAMP)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
