"""What was deleted is found by no search, cache, suggestion or vector, through any door.

The same running app is asked before and after, so that whatever it holds in memory is warm. No question
has the deleted word in it: what a page echoes proves nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.read_api import calls, memory
from assistant.read_api.calls import ReadSources
from store.chats import conversations
from store.core.database import Database, rows
from store.core.paths import DataDir
from store.core.settings import Settings
from store.embeddings import vectors
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.memories import put_observation, put_session
from tests.webapp.conftest import Actor, Clock
from webapp.core.services import Services
from webapp.integrations import mcp as frame_tools

SECRET = "xylophonequark"
_BY_API = {
    "words": "/api/v1/search?start_time=1&q=xylophoneq*&mode=fts",
    "words and meaning": "/api/v1/search?start_time=1&q=authentication+setup",
    "meaning": "/api/v1/search?start_time=1&q=authentication+setup&mode=semantic",
    "look-alikes": "/api/v1/search?start_time=1&q=xy1ophonequark",
    "a filter": "/api/v1/search?start_time=1&window_name=xylophoneq",
    "memory by words": "/api/v1/memory/search?q=xylophoneq*",
    "memory by meaning": "/api/v1/memory/search?q=authentication+setup",
    "memory of a file": "/api/v1/memory/search?file=xylophoneq",
    "memory around": "/api/v1/memory/timeline?anchor=2026-11-20T12:00:00Z&format=full",
    "timeline": "/api/v1/timeline?start_time=1",
    "summary": "/api/v1/activity-summary?start_time=1",
}
_BY_PAGE = {
    "search page": "/search?q=xylophoneq*",
    "search page by meaning": "/search?q=authentication+setup",
    "search page with facets and apps": "/search",
    "spellings on the page": "/search?q=xylophonequrak",
    "titles that are offered": "/search/names?win=xylophoneq",
    "addresses that are offered": "/search/names?url=xylophoneq",
    "journal": "/days/2026-11-20",
    "day": "/timeline?day=2026-11-20",
}


@pytest.fixture
def planted(database: Database, data_dir: DataDir) -> int:
    """A frame of the secret, what memory made of it, and all vectors; the frame's id."""
    frame = store_frame(
        database, data_dir, NOON_MS, f"the login system {SECRET}", app_name=f"App {SECRET}",
        window_name=f"{SECRET}.txt", browser_url=f"https://{SECRET}.example/",
    )  # fmt: skip
    other = store_frame(database, data_dir, NOON_MS - 600_000, "lunch and pizza", app_name="Zoom")
    with database.write() as connection:
        heartbeat(connection, other)
        heartbeat(connection, frame)
    put_observation(
        database, title=f"The login system {SECRET}", app_name=f"App {SECRET}", frame_ids=[frame.id],
        facts=[(f"the login system {SECRET}", frame.id)], files=[f"{SECRET}.txt"], concepts=[SECRET],
        narrative=f"Ten minutes in {SECRET}.",
    )  # fmt: skip
    put_session(database, learned=f"how the login system of {SECRET} works")
    chat = conversations.create(database, "a chat", NOON_MS)
    conversations.add_turn(
        database, chat, mode="evidence", model="m", question="what was that login system?",
        start_ms=0, end_ms=1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    with database.write() as connection:
        things = [("frame", frame.id, f"the login system {SECRET}")]
        things += [("document", *row) for row in rows(connection, "select id, text from memory_documents")]
        for kind, number, text in things:
            [vector] = vectors.quantize(FakeEmbedder().embed([text]))
            vectors.add(connection, kind, number, "fake", [(0, len(text), vector)])  # type: ignore[arg-type]
    return frame.id


def _library(own: Services, now: Clock) -> ReadSources:
    return ReadSources(own.database, own.media, Settings(), own.embedder, now)


def by_doors(own: Services, now: Clock) -> dict[str, str]:
    tools: list[tuple[Any, tuple[Any, ...]]] = [
        (frame_tools.search_frames, ("xylophoneq*",)),
        (frame_tools.search_frames, ("authentication setup",)),
        (frame_tools.activity_summary, (0,)),
        (memory.search_observations, ("xylophoneq*",)),
        (memory.search_observations, ("authentication setup",)),
        (memory.search_sessions, ("authentication setup",)),
        (memory.find_by_file, ("xylophoneq",)),
        (memory.get_recent_context, ()),
    ]
    found = {}
    for tool, arguments in tools:
        with calls.call(_library(own, now), "mcp", tool.__name__) as call:
            answer = tool(call, *arguments)
        found[f"{tool.__name__} {arguments}"] = answer.model_dump_json()
    return found


def everywhere(browser: Actor, program: Actor, own: Services, now: Clock) -> dict[str, str]:
    """The answers of every way to find something, by name."""
    found = by_doors(own, now)
    for actor, paths in ((program, _BY_API), (browser, _BY_PAGE)):
        for name, path in paths.items():
            answer = actor.get(path)
            assert answer.status_code == 200, (name, answer.text)
            found[name] = answer.text
    return found


def test_what_is_deleted_is_found_nowhere(
    planted: int, browser: Actor, program: Actor, own: Services, now: Clock
) -> None:
    before = everywhere(browser, program, own, now)
    assert [name for name, text in before.items() if SECRET not in text] == []
    body = {"start_time": NOON_MS / 1000, "end_time": NOON_MS / 1000 + 1}
    receipt = program.post("/api/v1/delete", json=body).get_json()
    assert receipt["verification"] == {"ok": True, "left": [], "elsewhere": []}, json.dumps(receipt)
    after = everywhere(browser, program, own, now)
    assert [name for name, text in after.items() if SECRET in text] == []
