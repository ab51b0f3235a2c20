"""What model servers are known to answer (``tests/cases/servers``), replayed by a real HTTP server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assistant.core.models import ChatModels
from engines.chat import protocol
from engines.chat.completions import OpenAIChatModel
from engines.chat.protocol import Completion, Message, ModelError
from store.core.database import Database
from store.core.settings import ChatSettings

FOLDER = Path(__file__).parents[2] / "cases" / "servers"
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}")
    for path in sorted(FOLDER.glob("*.json"))
    for case in json.loads(path.read_text("utf-8"))["cases"]
]
TOOL = {"name": "note_word", "description": "", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("case", [case for case in CASES if "finds" in case.values[0]])
def test_what_a_model_can_do_is_found_out(case: Mapping[str, Any], database: Database) -> None:
    with replaying(case["routes"]) as base_url:
        models = ChatModels(ChatSettings(base_url=base_url, model=case["model"]), {}, database=database)
        report = models.test(case["model"])
        models.close()
    assert report is not None
    assert {name: getattr(report.found, name) for name in case["finds"]} == case["finds"]


@pytest.mark.parametrize("case", [case for case in CASES if "finds" not in case.values[0]])
def test_an_answer_is_read_and_a_failure_told_in_the_servers_words(case: Mapping[str, Any]) -> None:
    asks = case.get("asks", ())
    with replaying(case["routes"]) as base_url:
        model = OpenAIChatModel("m", base_url, case["model"], json_schema="schema" in asks, waits_s=())
        pieces = model.stream(
            [Message("user", "?")],
            tools=[TOOL] if "tools" in asks else [],
            schema={"type": "object"} if {"schema", "object"}.intersection(asks) else None,
            timeout_s=60,
        )
        if "error" in case:
            with pytest.raises(ModelError, match=case["words"]) as caught:
                list(pieces)
            assert type(caught.value) is getattr(protocol, case["error"])
            return
        *told, completion = pieces
    assert isinstance(completion, Completion)
    assert completion.text == "".join(map(str, told)) == case.get("text", "")
    called = [call["function"] for call in completion.tool_calls]
    assert called == case.get("calls", [])


@contextmanager
def replaying(routes: list[Mapping[str, Any]]) -> Iterator[str]:
    """The address of a server that answers each request with the first route that fits it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: Mapping[str, Any]) -> None:
            asked, has = f"{self.command} {self.path}", features(body)
            fitting = (r for r in routes if r["request"] == asked and has.issuperset(r.get("has", ())))
            route = next(fitting, {"status": 404, "json": {"error": "404 page not found"}})
            content, kind = json.dumps(route.get("json")).encode(), "application/json"
            if "events" in route:
                lines = [f"data: {json.dumps(event)}\n\n" for event in route["events"]]
                content, kind = "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream"
            self.send_response(route["status"])
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def features(body: Mapping[str, Any]) -> set[str]:
    """What a request asks for."""
    form = body.get("response_format") or {}
    has = {name for name in ("stream", "tools", "response_format") if body.get(name)}
    return has | {form.get("type", "")} | ({"picture"} if "image_url" in json.dumps(body) else set())
