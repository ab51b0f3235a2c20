"""The SDK's own client drives every tool: over stdio in a real process, and over HTTP."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from PIL import Image

from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import EmbeddingSettings
from store.egress import access_log
from store.embeddings import vectors
from store.frames.frames import FrameRow
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import make_token
from tests.webapp.integrations.conftest import Exclude
from webapp.integrations.mcp import TOOLS, http_app, make_server
from webapp.security.access import load_token

NOON = NOON_MS / 1000
ROOT = Path(__file__).resolve().parents[3]


def put(database: Database, captured_ms: int, text: str, **changes: Any) -> FrameRow:
    frame = store_frame(database, database.data_dir, captured_ms, text, **changes)
    with database.write() as connection:
        heartbeat(connection, frame)
    return frame


@pytest.fixture
def seen(database: Database) -> list[FrameRow]:
    """Three frames on one monitor, a second apart: code, the bank, code again."""
    return [
        put(database, NOON_MS, "the retention policy"),
        put(database, NOON_MS + 1000, "the balance policy", app_name="Bank", window_name="Accounts"),
        put(database, NOON_MS + 2000, "another policy " + "word " * 3_000),
    ]


class Asked:
    """A connected client; answers as plain values."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        return str(result.content[0].text)  # type: ignore[union-attr]


Story = Callable[[Asked], Awaitable[None]]


def converse(server: Any, story: Story) -> None:
    """Run a story on a connection to a server."""

    async def main() -> None:
        async with Client(server) as client:
            await story(Asked(client))

    anyio.run(main)


# -- in this process: what the tools answer ---------------------------------------------------


def test_a_search_gives_small_rows(library: ReadSources, seen: list[FrameRow], database: Database) -> None:
    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="retention", start=NOON)
        (row,) = found["frames"]
        at = row["time"]
        assert row["frame_id"] == seen[0].id
        assert datetime.fromisoformat(at).timestamp() == NOON
        assert (found["total"], found["total_is_exact"], found["withheld"]) == (1, True, 0)
        assert found["fallback_reason"] == "embeddings_off"
        assert "text" not in row and row["host"] is None
        there = put(database, NOON_MS + 500, "the retention of a laptop", host="laptop")
        found = await ask("search_frames", query="retention", host="laptop")
        assert [(row["frame_id"], row["host"]) for row in found["frames"]] == [(there.id, "laptop")]
        summary = await ask("activity_summary", start=NOON, host="nobody")
        assert summary["apps"] == []

    converse(make_server(library, "mcp"), story)


def test_a_long_text_is_given_in_pieces(library: ReadSources, seen: list[FrameRow]) -> None:
    async def story(ask: Asked) -> None:
        first = await ask("get_frame_context", frame_id=seen[2].id, text_chars=20)
        assert first["text"] == "another policy word "
        rest = await ask("get_frame_context", frame_id=seen[2].id, text_start=20, text_chars=50_000)
        assert len(rest["text"]) == first["text_length"] - 20

    converse(make_server(library, "mcp"), story)


def test_pages_follow_each_other_without_doubles(library: ReadSources, database: Database) -> None:
    ids = [put(database, NOON_MS + n, f"page {n}").id for n in range(7)]

    async def story(ask: Asked) -> None:
        found, cursor = [], None
        while True:
            page = await ask("search_frames", query="page", order="oldest", limit=3, cursor=cursor)
            found += [row["frame_id"] for row in page["frames"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == ids

    converse(make_server(library, "mcp"), story)


def test_a_run_of_look_alikes_is_one_row(library: ReadSources, database: Database) -> None:
    first, *_ = [put(database, NOON_MS + n, "the same page").id for n in range(4)]

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="page", order="oldest")
        assert [(row["frame_id"], row["alike"]) for row in found["frames"]] == [(first, 3)]
        assert (found["total"], found["near_total"]) == (4, 0)

    converse(make_server(library, "mcp"), story)


def test_meaning_finds_too_and_obeys_the_same_rules(
    library: ReadSources, database: Database, exclude: Exclude
) -> None:
    shown = put(database, NOON_MS, "the login system")
    secret = put(database, NOON_MS + 1, "a login setup", app_name="Bank")
    fake = FakeEmbedder()
    with database.write() as connection:
        for frame, text in ((shown, "the login system"), (secret, "a login setup")):
            [vector] = vectors.quantize(fake.embed([text]))
            vectors.add(connection, "frame", frame.id, fake.name, [(0, len(text), vector)])
    exclude(app="Bank")
    knowing = replace(library, embedder=QueryEmbedder(EmbeddingSettings(), database, lambda: fake))

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="authentication setup")
        assert [row["frame_id"] for row in found["frames"]] == [shown.id]
        assert (found["withheld"], found["fallback_reason"]) == (1, None)

    converse(make_server(knowing, "mcp"), story)


def test_a_client_lists_questions_to_ask_and_attaches_frames(
    library: ReadSources, seen: list[FrameRow], exclude: Exclude
) -> None:
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        names = [prompt.name for prompt in (await ask.client.list_prompts()).prompts]
        assert names == ["what_i_did", "where_i_saw"]
        [message] = (await ask.client.get_prompt("what_i_did", {"when": "on Friday"})).messages
        assert "What did I do on Friday?" in message.content.text  # type: ignore[union-attr]
        address = f"recollect://frames/{seen[0].id}"
        [told] = (await ask.client.read_resource(address)).contents
        assert json.loads(told.text)["text"] == "the retention policy"  # type: ignore[union-attr]
        [shown] = (await ask.client.read_resource(f"{address}/picture")).contents
        content = base64.b64decode(shown.blob)  # type: ignore[union-attr]
        assert Image.open(io.BytesIO(content)).format == "WEBP"
        for hidden in (seen[1].id, 999):
            with pytest.raises(MCPError):
                await ask.client.read_resource(f"recollect://frames/{hidden}")

    converse(make_server(library, "mcp"), story)
    assert {row.tool for row in access_log.latest(library.database)} == {"frame", "picture"}


# -- today's rules ----------------------------------------------------------------------------


def test_a_frame_that_a_newer_rule_excludes_is_in_no_tool(
    library: ReadSources, seen: list[FrameRow], exclude: Exclude
) -> None:
    before, secret, after = seen
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="policy", order="oldest")
        assert [row["frame_id"] for row in found["frames"]] == [before.id, after.id]
        assert found["withheld"] == 1
        assert "rule" in await ask.refused("get_frame_context", frame_id=secret.id)
        assert "rule" in await ask.refused("get_frame_image", frame_id=secret.id)
        beside = await ask("get_frame_context", frame_id=before.id)
        assert (beside["next_frame_id"], beside["withheld"]) == (None, 1)
        spent = await ask("activity_summary", start=NOON - 10)
        assert {row["name"] for row in spent["apps"]} == {"Code"}
        assert "Accounts" not in json.dumps(spent)
        assert spent["withheld"] == 1

    converse(make_server(library, "mcp"), story)


def test_a_frame_that_shows_an_excluded_window_behind_another_is_in_no_tool(
    library: ReadSources, database: Database, exclude: Exclude
) -> None:
    secret = put(database, NOON_MS, "a policy", visible=(("Bank", "Accounts", None),))
    shown = put(database, NOON_MS + 1000, "its policy", visible=(("Mail", "Inbox", None),))
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="policy", order="oldest")
        assert ([row["frame_id"] for row in found["frames"]], found["withheld"]) == ([shown.id], 1)
        for tool in ("get_frame_context", "get_frame_image"):
            assert "rule" in await ask.refused(tool, frame_id=secret.id)

    converse(make_server(library, "mcp"), story)


def test_a_page_is_filled_past_what_is_withheld(
    library: ReadSources, database: Database, exclude: Exclude
) -> None:
    """Nothing is cut before it is filtered."""
    put(database, NOON_MS, "old and open")
    for n in range(1, 9):
        put(database, NOON_MS + n, "open", app_name="Bank")
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="open", order="newest", limit=2)
        assert [row["snippet"] for row in found["frames"]] == ["old and open"]
        assert (found["withheld"], found["next_cursor"]) == (8, None)

    converse(make_server(library, "mcp"), story)


def test_rules_that_cannot_be_read_open_nothing(
    library: ReadSources, seen: list[FrameRow], data_dir: DataDir
) -> None:
    data_dir.privacy_rules.write_text("{")

    async def story(ask: Asked) -> None:
        assert "rules" in await ask.refused("search_frames", query="policy")
        assert "rules" in await ask.refused("get_frame_image", frame_id=seen[0].id)

    converse(make_server(library, "mcp"), story)


def test_a_browser_without_an_address_stays_back_once_a_site_is_excluded(
    library: ReadSources, database: Database, exclude: Exclude
) -> None:
    put(database, NOON_MS, "maybe the bank", app_name="Firefox", window_name="Accounts")
    put(database, NOON_MS + 1, "an imported picture", app_name=None, window_name=None)
    exclude(url="bank.example")

    async def story(ask: Asked) -> None:
        found = await ask("search_frames")
        assert [row["snippet"] for row in found["frames"]] == ["an imported picture"]
        assert found["withheld"] == 1

    converse(make_server(library, "mcp"), story)


# -- the record of what was read --------------------------------------------------------------


def test_every_call_leaves_one_row_without_content(
    library: ReadSources, seen: list[FrameRow], exclude: Exclude
) -> None:
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        await ask("search_frames", query="policy")
        await ask("get_frame_context", frame_id=seen[2].id)
        await ask.client.call_tool("get_frame_image", {"frame_id": seen[1].id})
        await ask("activity_summary", start=NOON)

    converse(make_server(library, "mcp"), story)
    rows = access_log.latest(library.database)[::-1]
    assert [(row.door, row.tool, row.outcome, row.returned, row.withheld) for row in rows] == [
        ("mcp", "search_frames", "answered", 2, 1),
        ("mcp", "get_frame_context", "answered", 1, 1),
        ("mcp", "get_frame_image", "refused", 0, 1),
        ("mcp", "activity_summary", "answered", 1, 1),
    ]


def test_what_cannot_be_recorded_is_not_read(
    library: ReadSources, seen: list[FrameRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(access_log, "record", full)

    async def story(ask: Asked) -> None:
        assert "policy" not in await ask.refused("search_frames", query="policy")

    converse(make_server(library, "mcp"), story)


# -- refusals ---------------------------------------------------------------------------------


@for_each(
    ("tool", "arguments", "word"),
    [
        ("search_frames", {"start": "2026-11-20T13:00:00"}, "zone"),
        ("search_frames", {"start": "yesterday"}, "zone"),
        ("search_frames", {"start": 1e12}, "seconds"),
        ("search_frames", {"start": NOON, "end": NOON}, "later"),
        ("search_frames", {"cursor": "nonsense"}, "cursor"),
        ("search_frames", {"limit": 0}, "limit"),
        ("get_frame_context", {"frame_id": 7}, "no frame"),
        ("get_frame_image", {"frame_id": -1}, "frame_id"),
        ("activity_summary", {}, "start"),
        ("delete_frames", {}, "delete_frames"),
    ],
)
def test_bad_arguments_are_refused_with_what_would_be_right(
    library: ReadSources, tool: str, arguments: dict[str, Any], word: str
) -> None:
    async def story(ask: Asked) -> None:
        assert word in await ask.refused(tool, **arguments)

    converse(make_server(library, "mcp"), story)
    (row, *_) = access_log.latest(library.database)
    assert (row.tool, row.outcome) == ("unknown" if tool == "delete_frames" else tool, "refused")


def test_a_picture_that_is_gone_is_said_to_be_gone(library: ReadSources, seen: list[FrameRow]) -> None:
    library.media.remove([str(seen[0].media_path)])

    async def story(ask: Asked) -> None:
        assert "gone" in await ask.refused("get_frame_image", frame_id=seen[0].id)

    converse(make_server(library, "mcp"), story)


def test_no_tool_changes_anything(library: ReadSources) -> None:
    """The list has no verb that changes, and says so to clients."""

    async def story(ask: Asked) -> None:
        *tools, last = (await ask.client.list_tools()).tools
        assert [tool.name for tool in tools] == [tool.__name__ for tool in TOOLS]
        assert last.name == "ask" and last.annotations is not None  # it keeps what it was asked
        assert not last.annotations.read_only_hint and not last.annotations.destructive_hint
        for tool in tools:
            assert tool.name.split("_")[0] in {"search", "get", "find", "activity"}, tool.name
            assert tool.annotations is not None and tool.annotations.read_only_hint
            assert tool.description
            assert "call" not in tool.input_schema["properties"]

    converse(make_server(library, "mcp"), story)


def test_a_question_is_answered_without_what_a_rule_excludes(
    library: ReadSources, seen: list[FrameRow], exclude: Exclude
) -> None:
    """Of a model that would change something nothing runs: only what looks things up is on offer."""
    exclude(app="Bank")
    with StubModel(can=("tools",)) as stub:
        stub.reply(
            {"answer_md": "A policy [[e1]].", "evidence": [{"id": "e1", "quote": "the retention policy"}]}
        )
        chat = replace(library.settings.chat, base_url=stub.base_url)

        async def story(ask: Asked) -> None:
            told = await ask("ask", question="Which policy did I read about?")
            assert told["answer"] == "A policy [1]." and told["scope"].startswith("everything")
            assert [source["frame_id"] for source in told["sources"]] == [seen[0].id]

        converse(make_server(replace(library, settings=replace(library.settings, chat=chat)), "mcp"), story)
        assert "balance" not in stub.prompt(0)
        tools = {tool["function"]["name"] for tool in stub.requests[0]["tools"]}
    assert "search_ocr" in tools and not tools & {"store_fact", "store_entity", "describe_frame"}
    row = access_log.latest(library.database)[0]
    assert (row.door, row.tool, row.returned, row.withheld) == ("mcp", "ask", 1, 1)


@pytest.mark.parametrize("is_all", [False, True])
def test_without_a_model_no_window_that_a_rule_excludes_is_measured(
    is_all: bool, library: ReadSources, database: Database, exclude: Exclude
) -> None:
    put(database, NOON_MS, "the balance", app_name="Bank", window_name="Accounts")
    if not is_all:
        put(database, NOON_MS + 1000, "the retention policy")
    exclude(app="Bank")

    async def story(ask: Asked) -> None:
        questions = ("Which apps did I use?", "How long was I in Accounts?", "What did I do?")
        for question in (*questions, "Where was a giraffe in 2026?"):
            told = await ask("ask", question=question)
            assert "Bank" not in told["answer"] and "“Accounts”:" not in told["answer"]
            assert ("Code" in told["answer"]) is not is_all

    converse(make_server(library, "mcp"), story)


# -- over the wire ----------------------------------------------------------------------------


def every_tool(seen: list[FrameRow]) -> Story:
    """One good call of each frame tool."""

    async def story(ask: Asked) -> None:
        found = await ask("search_frames", query="policy", order="oldest")
        assert [row["frame_id"] for row in found["frames"]] == [frame.id for frame in seen]
        context = await ask("get_frame_context", frame_id=seen[0].id)
        assert context["text"] == "the retention policy"
        assert context["next_frame_id"] == seen[1].id
        shown = await ask.client.call_tool("get_frame_image", {"frame_id": seen[0].id, "width": 64})
        said, picture = shown.content
        assert str(seen[0].id) in said.text  # type: ignore[union-attr]
        image = Image.open(io.BytesIO(base64.b64decode(picture.data)))  # type: ignore[union-attr]
        assert (image.format, image.width) == ("WEBP", 64)
        spent = await ask("activity_summary", start=NOON - 60, end=NOON + 60)
        assert {row["name"] for row in spent["apps"]} == {"Code", "Bank"}
        assert spent["covered_minutes"] <= spent["wall_minutes"] == 2

    return story


@pytest.mark.end_to_end
def test_the_client_drives_every_tool_over_stdio(
    data_dir: DataDir, seen: list[FrameRow], database: Database
) -> None:
    """A real process on the home folder, with the pages down."""
    process = StdioServerParameters(
        command=sys.executable,
        args=["-m", "webapp", "mcp", "--home", str(data_dir.home)],
        cwd=str(ROOT),
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    converse(process, every_tool(seen))
    assert {row.door for row in access_log.latest(database)} == {"mcp"}


@pytest.mark.end_to_end
def test_stdout_carries_the_protocol_only(data_dir: DataDir) -> None:
    """A first message that is nonsense, then a good one: every line that comes back is JSON-RPC."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    process = subprocess.run(
        [sys.executable, "-m", "webapp", "mcp", "--home", str(data_dir.home)],
        input=f"nonsense\n{json.dumps(hello)}\n",
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=200,
        check=True,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert lines and all(line["jsonrpc"] == "2.0" for line in lines)
    assert any(line.get("result", {}).get("serverInfo", {}).get("name") == "recollect" for line in lines)


@dataclass
class Http:
    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@pytest.fixture
def http(library: ReadSources, data_dir: DataDir) -> Iterator[Http]:
    import uvicorn

    from webapp.security.access import listen

    token = load_token(data_dir)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(http_app(library, token, port), log_config=None))
        thread = threading.Thread(target=lambda: anyio.run(lambda: server.serve(sockets=[listener])))
        thread.start()
        yield Http(port, token)
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


def test_the_client_drives_every_tool_over_http(http: Http, seen: list[FrameRow], database: Database) -> None:
    headers = {"Authorization": f"Bearer {make_token(database, 'mcp', 'my editor')}"}

    async def main() -> None:
        async with (
            httpx2.AsyncClient(headers=headers) as own,
            Client(streamable_http_client(http.url, http_client=own)) as client,
        ):
            await every_tool(seen)(Asked(client))

    anyio.run(main)
    assert {(row.door, row.caller) for row in access_log.latest(database)} == {("mcp_http", "my editor")}


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "Bearer {token}"}, 200),
        ({"Authorization": "Bearer {mcp}"}, 200),
        ({"Authorization": "Bearer {read}"}, 401),
        ({"Authorization": "Bearer {ingest}"}, 401),
        ({"Authorization": "Bearer {mcp}", "Host": "evil.example:{port}"}, 421),
        ({"Authorization": "Bearer {mcp}", "Host": "localhost:{port}"}, 200),
        ({"Authorization": "Bearer {mcp}", "Host": "localhost:1"}, 421),
        ({"Authorization": "Bearer {mcp}", "Origin": "https://evil.example"}, 403),
        ({"Authorization": "Bearer {mcp}", "Origin": "http://localhost:3000"}, 403),
        ({"Authorization": "Bearer {mcp}", "Origin": "null"}, 403),
    ],
)
def test_the_http_door_asks_for_token_host_and_origin(
    http: Http, database: Database, headers: dict[str, str], status: int
) -> None:
    tokens = {scope: make_token(database, scope) for scope in ("mcp", "read", "ingest")}
    values = {"token": http.token, **tokens, "port": str(http.port)}
    sent = {name: value.format(**values) for name, value in headers.items()}
    answer = httpx2.post(http.url, json=LIST, headers={**ACCEPT, **sent})
    assert answer.status_code == status, answer.text
    if status != 200:
        assert "search_frames" not in answer.text
