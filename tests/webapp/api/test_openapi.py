"""The description is generated, valid, complete, and a fuzzer finds it true."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import schemathesis
from flask import Flask, Response
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.spool.process_state import IngestState
from tests.factories import NOON_MS, store_frame
from tests.webapp.conftest import ORIGIN, PORT, Actor, Clock
from webapp.api.openapi import openapi_document
from webapp.security import keys

_CONVERTER = re.compile(r"<[a-z]+:([a-z_]+)>")


def test_the_description_is_valid_openapi(program: Actor) -> None:
    document = program.get("/api/v1/openapi.json").get_json()
    assert document["openapi"] == "3.1.0"
    validate(document)


def test_every_route_of_the_api_is_described_and_no_other(app: Flask) -> None:
    routes = {
        (_CONVERTER.sub(r"{\1}", rule.rule.removeprefix("/api/v1")), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("api.")
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS")
    }
    described = {(path, method) for path, item in openapi_document()["paths"].items() for method in item}
    assert routes == described


def test_the_contract_of_this_version_is_there() -> None:
    paths = {path: set(item) for path, item in openapi_document()["paths"].items()}
    assert paths == {
        "/search": {"get"},
        "/time": {"get"},
        "/attachments": {"post"},
        "/attachments/{attachment_id}": {"get", "delete"},
        "/attachments/{attachment_id}/file": {"get"},
        "/personas": {"get", "post"},
        "/personas/{persona_id}": {"get", "put", "delete"},
        "/personas/{persona_id}/activate": {"post"},
        "/insights": {"get", "post"},
        "/insights/{insight_id}": {"get", "delete"},
        "/insights/{insight_id}/chat": {"post"},
        "/frames/{frame_id}": {"get", "delete"},
        "/frames/{frame_id}/context": {"get"},
        "/frames/{frame_id}/text": {"get"},
        "/delete": {"post"},
        "/hosts/state": {"post"},
        "/hosts/entries": {"post"},
        "/ingest": {"post"},
        "/ingest/{capture_id}": {"get"},
        "/timeline": {"get"},
        "/activity-summary": {"get"},
        "/chat": {"post"},
        "/ai/chat/stream": {"post"},
        "/chats/{chat_id}/turns/{turn_id}/stop": {"post"},
        "/tools": {"get"},
        "/tools/{name}": {"patch"},
        "/tools/{name}/rules/{rule_id}": {"delete"},
        "/tool-calls/{call_id}/approve": {"post"},
        "/tool-calls/{call_id}/deny": {"post"},
        "/chats": {"get"},
        "/chats/{chat_id}": {"get", "delete"},
        "/chats/{chat_id}/turns/{turn_id}": {"get"},
        "/chats/{chat_id}/turns/{turn_id}/export": {"get"},
        "/models": {"get"},
        "/models/{model_id}/system-prompt": {"get", "put", "delete"},
        "/days/{on}": {"get"},
        "/entities": {"get", "post"},
        "/entities/{entity_id}": {"get", "delete"},
        "/facts": {"get", "post"},
        "/facts/{fact_id}": {"delete"},
        "/memory/search": {"get"},
        "/memory/timeline": {"get"},
        "/summaries/context": {"get"},
        "/summaries/export": {"get"},
        "/chats/{chat_id}/turns/{turn_id}/check": {"post"},
        "/chat/new": {"post"},
        "/chat/heartbeat": {"post"},
        "/chat/visibility": {"post"},
        "/chat/close": {"post"},
        "/imports/messages": {"post"},
        "/imports/calendar": {"post"},
        "/imports/location": {"post"},
        "/imports/places": {"post"},
        "/browser-windows": {"post"},
        "/privacy/rules": {"get", "put"},
        "/privacy/test": {"post"},
        "/capture/pause": {"post"},
        "/capture/resume": {"post"},
        "/capture/decisions": {"get"},
        "/health": {"get"},
        "/stats": {"get"},
        "/openapi.json": {"get"},
    }


def test_only_health_answers_without_credentials() -> None:
    open_paths = [
        path
        for path, item in openapi_document()["paths"].items()
        for operation in item.values()
        if {} in operation.get("security", [])
    ]
    assert open_paths == ["/health"]


@pytest.fixture
def filled(
    app: Flask, database: Database, data_dir: DataDir, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> Flask:
    """An app with something to find at small ids, so that the fuzzer meets more than 404."""
    monkeypatch.setattr(keys, "MAX_WRONG", 1_000_000)  # it also tries whether each operation looks at keys
    store_frame(database, data_dir, 0, text="words to find")
    store_frame(database, data_dir, NOON_MS, text="more words")
    conversations.create(database, "a chat", NOON_MS)
    IngestState(pid=1, started_ms=now(), written_ms=now(), state="running").write(data_dir.spool)
    return app


# JSON Schema cannot say "end after start" or "a cursor of this list", so what fits the schema may
# still be refused; everything else is checked.
_NOT_TRUE_OF_RANGES = [positive_data_acceptance]

# Reading first, deleting last: what is asked for is there as long as it may be.
_ORDER = ("get", "put", "patch", "post", "delete")
_IMPORTS = "/imports/"  # a file to import is read by a process of its own


def operations() -> list[tuple[str, str, GenerationMode]]:
    """Every operation, with input that fits its description and, where it takes any, with other input."""
    found = [
        (path, method, mode)
        for path, item in openapi_document()["paths"].items()
        for method, operation in item.items()
        for mode in GenerationMode
        if mode.is_positive or operation["parameters"] or "requestBody" in operation
    ]
    return sorted(found, key=lambda each: _ORDER.index(each[1]))


@pytest.mark.end_to_end
def test_a_fuzzer_finds_no_difference(filled: Flask) -> None:
    """No 5xx, no status, type or shape that is not described, and no bad input that is accepted.

    A few examples of each operation; `make fuzz` tries forty times as many.
    """
    schema = schemathesis.openapi.from_dict(openapi_document())
    schema.app = filled
    schema.config.base_url = f"{ORIGIN}/api/v1"
    # Words of our own source as values: reading all of it takes half a second per operation.
    schema.config.analysis.constants.enabled = False
    headers = {
        "Authorization": f"Bearer {filled.extensions['recollect'].token}",
        "Host": f"127.0.0.1:{PORT}",
    }
    differences = []
    statuses: Counter[int] = Counter()

    @filled.after_request
    def count(response: Response) -> Response:
        statuses[response.status_code] += 1
        return response

    for path, method, mode in operations():
        try:
            _fuzz(schema[path][method], mode, headers, 1 if path.startswith(_IMPORTS) else 5)
        except Exception as error:
            differences.append(f"{mode.value} {method} {path}: {error}")
    assert differences == [], "\n\n".join(differences)
    assert max(statuses) < 500, statuses
    # A thousand in the suite, forty times as many in `make fuzz`.
    assert statuses.total() >= 800 * _times_as_many(), statuses


def _times_as_many() -> int:
    return settings().max_examples // settings.get_profile("recollect").max_examples


def _fuzz(operation: Any, mode: GenerationMode, headers: dict[str, str], examples: int) -> None:
    @settings(
        max_examples=examples * _times_as_many(),
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        case.call_and_validate(excluded_checks=_NOT_TRUE_OF_RANGES, headers=headers)

    check()
