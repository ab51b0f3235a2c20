"""The tools over memory, as the SDK's client sees them."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from assistant.read_api import memory as tools
from assistant.read_api.calls import ReadSources
from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from store.egress import access_log
from store.frames.frames import FrameRow
from store.memory import documents, observation_writer
from store.memory.observations import Draft, Fact
from tests.factories import NOON_MS
from tests.tables import for_each
from tests.webapp.integrations.conftest import Exclude
from tests.webapp.integrations.test_mcp import Asked, converse, put
from webapp.integrations.mcp import make_server

NOON = NOON_MS / 1000
HOUR_MS = 3_600_000
ROOT = Path(__file__).resolve().parents[3]


def observe(database: Database, frame: FrameRow, title: str, **changes: Any) -> None:
    """An observation of the frame's hour that cites it."""
    hour = frame.captured_ms // HOUR_MS
    values: dict[str, Any] = {
        "hour": hour,
        "place": title,
        "start_ms": frame.captured_ms,
        "end_ms": frame.captured_ms + 60_000,
        "active_ms": 60_000,
        "app_name": frame.app_name,
        "kind": "coding",
        "project": "recollect",
        "title": title,
        "narrative": f"Worked on {title}.",
        "facts": (Fact(f"{title} line", frame.id),),
        "concepts": ("login",),
        "files": ("src/login.py",),
        "urls": (),
        "frame_ids": (frame.id,),
        "fingerprint": title,
        **changes,
    }
    with database.write() as connection:
        observation_writer.put_hour(connection, hour, [Draft(**values)], frame.captured_ms)


@pytest.fixture
def remembered(database: Database) -> dict[str, FrameRow]:
    """Two observations an hour apart, the second of a bank; a session of the first; a question."""
    code = put(database, NOON_MS, "the login system")
    bank = put(database, NOON_MS + HOUR_MS, "the balance", app_name="Bank", window_name="Accounts")
    observe(database, code, "login system")
    observe(database, bank, "account balance", kind="finance", concepts=("money",), files=("bank.csv",))
    with database.write() as connection:
        documents.put_session(
            connection,
            NOON_MS - 60_000,
            NOON_MS + 60_000,
            {"completed": "the login form"},
            "recollect",
            NOON_MS,
        )
    chat = conversations.create(database, "What about the login?", NOON_MS)
    conversations.add_turn(
        database,
        chat,
        mode="evidence",
        model="extractive",
        question="What about the login?",
        start_ms=None,
        end_ms=None,
        timezone="UTC",
        now_ms=NOON_MS + 1,
    )
    return {"code": code, "bank": bank}


def seconds(written: str) -> float:
    """Epoch seconds of a time with its offset."""
    return datetime.fromisoformat(written).timestamp()


RANGE = {"start": NOON - 7200, "end": NOON + 7200}


def every_tool(remembered: dict[str, FrameRow], *, bank_is_withheld: bool = False) -> Any:
    """One good call of each memory tool."""
    bank = [] if bank_is_withheld else ["account balance"]

    async def story(ask: Asked) -> None:
        def titles(answer: Any) -> list[str]:
            return [entry["title"] for entry in answer["entries"]]

        assert titles(await ask("search_observations", query="login", **RANGE)) == ["login system"]
        assert titles(await ask("search_observations", query="balance", **RANGE)) == bank
        assert titles(await ask("search_sessions", query="form", **RANGE)) == ["the login form"]
        asked = await ask("search_user_prompts", query="login", **RANGE)
        assert titles(asked) == ["What about the login?"]
        assert titles(await ask("find_by_concept", concept="login", **RANGE)) == ["login system"]
        assert titles(await ask("find_by_file", file="bank.csv", **RANGE)) == bank
        assert titles(await ask("find_by_type", kind="finance", **RANGE)) == bank
        recent = await ask("get_recent_context")
        assert set(titles(recent)) == {*bank, "login system", "the login form", "What about the login?"}
        row = next(entry for entry in recent["entries"] if entry["title"] == "login system")
        assert seconds(row["start"]) == NOON
        around = await ask("get_context_timeline", anchor=row["id"], full=True)
        (anchor,) = [entry for entry in around["entries"] if entry["is_anchor"]]
        assert anchor["details"]["facts"] == ["login system line"]
        assert anchor["details"]["frame_ids"] == [remembered["code"].id]
        starts = [seconds(entry["start"]) for entry in around["entries"]]
        assert starts == sorted(starts)
        assert {entry["type"] for entry in around["entries"]} == {"observation", "session", "prompt"}
        alone = await ask("get_context_timeline", anchor=row["id"], depth_before=0, depth_after=0)
        assert [entry["details"] for entry in alone["entries"]] == [None]

    return story


def test_every_memory_tool_answers(library: ReadSources, remembered: dict[str, FrameRow]) -> None:
    converse(make_server(library, "mcp"), every_tool(remembered))
    rows = access_log.latest(library.database)
    assert {row.tool for row in rows} == {tool.__name__ for tool in tools.TOOLS}
    assert {(row.outcome, row.withheld) for row in rows} == {("answered", 0)}


@pytest.mark.end_to_end
def test_the_client_drives_the_memory_tools_over_stdio(
    data_dir: DataDir, remembered: dict[str, FrameRow]
) -> None:
    process = StdioServerParameters(
        command=sys.executable,
        args=["-m", "webapp", "mcp", "--home", str(data_dir.home)],
        cwd=str(ROOT),
        env={**os.environ, "RECOLLECT_EMBEDDING_ENGINE": "off"},
    )
    converse(process, every_tool(remembered))


def test_what_a_rule_leaves_out_is_in_no_memory_tool(
    library: ReadSources, remembered: dict[str, FrameRow], exclude: Exclude
) -> None:
    exclude(app="Bank")
    converse(make_server(library, "mcp"), every_tool(remembered, bank_is_withheld=True))
    assert {row.withheld for row in access_log.latest(library.database)} == {0, 1}


def test_an_entry_stays_back_for_one_line_of_one_frame(
    library: ReadSources, database: Database, exclude: Exclude
) -> None:
    """Also where the frame that a fact cites was on another monitor, off the line of activity."""
    code = put(database, NOON_MS, "code")
    diary = put(
        database, NOON_MS, "diary", app_name="Notes", window_name="Diary", focused=False, monitor="DP-2"
    )
    observe(database, code, "writing", facts=(Fact("a secret line", diary.id),))
    exclude(title="diary")

    async def story(ask: Asked) -> None:
        answer = await ask("search_observations", query="writing", **RANGE)
        assert (answer["entries"], answer["withheld"]) == ([], 1)

    converse(make_server(library, "mcp"), story)


def test_a_session_stays_back_when_a_window_of_its_time_is_left_out(
    library: ReadSources, remembered: dict[str, FrameRow], exclude: Exclude
) -> None:
    exclude(title="main.py")

    async def story(ask: Asked) -> None:
        answer = await ask("search_sessions", query="form", **RANGE)
        assert (answer["entries"], answer["withheld"]) == ([], 1)
        prompts = await ask("search_user_prompts", query="login", **RANGE)
        assert len(prompts["entries"]) == 1

    converse(make_server(library, "mcp"), story)


def test_a_withheld_anchor_is_refused(
    library: ReadSources, remembered: dict[str, FrameRow], exclude: Exclude
) -> None:
    ids: list[int] = []

    async def find(ask: Asked) -> None:
        found = await ask("search_observations", query="balance", **RANGE)
        ids.extend(entry["id"] for entry in found["entries"])

    async def story(ask: Asked) -> None:
        refused = await ask.refused("get_context_timeline", anchor=ids[0], full=True)
        assert "rule" in refused and "balance" not in refused

    converse(make_server(library, "mcp"), find)
    exclude(app="Bank")
    converse(make_server(library, "mcp"), story)


@for_each(
    ("arguments", "word"),
    [
        ({"anchor": 999}, "observation 999"),
        ({"anchor": "session:999"}, "session 999"),
        ({"anchor": "2026-11-20T12:00:00"}, "zone"),
        ({"anchor": 1, "depth_before": 51}, "depth_before"),
        ({}, "anchor"),
    ],
    ids=str,
)
def test_a_bad_anchor_is_an_error_and_not_an_empty_list(
    library: ReadSources, remembered: dict[str, FrameRow], arguments: dict[str, Any], word: str
) -> None:

    async def story(ask: Asked) -> None:
        assert word in await ask.refused("get_context_timeline", **arguments)

    converse(make_server(library, "mcp"), story)


def test_a_moment_is_an_anchor_too(library: ReadSources, remembered: dict[str, FrameRow]) -> None:
    async def story(ask: Asked) -> None:
        around = await ask(
            "get_context_timeline", anchor="2026-11-20T13:30:00+01:00", depth_before=1, unit="hours"
        )
        assert seconds(around["anchor"]) == NOON + 1800
        assert not any(entry["is_anchor"] for entry in around["entries"])
        assert len(around["entries"]) == 4

    converse(make_server(library, "mcp"), story)
