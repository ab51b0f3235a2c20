"""A real HTTP server that speaks as much of the OpenAI protocol as a chat needs, from a script.

    with StubModel() as stub:
        stub.reply({"answer_md": "You wrote code [[e1]].", "evidence": [...]})
        ...
        assert stub.requests[0]["messages"][0]["role"] == "system"

Replies are used in order; the last one repeats. `reply` may also be a function of the request, so
that a test can answer with what it finds in the prompt. `call` lets the model ask for tools.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from assistant.core import abilities

Request = dict[str, Any]
Reply = str | Mapping[str, Any] | Callable[[Request], "str | Mapping[str, Any]"]


_ALIVE = b": still here\n\n"


@dataclass(frozen=True, slots=True)
class _Scripted:
    """One planned response: an answer, or a status with a raw body."""

    answer: Reply | None = None
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    wait_for: threading.Event | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    choose: Callable[[Request], Sequence[tuple[str, Mapping[str, Any]]]] | None = None
    breaks_after: int | None = None  # bytes of the body, after which the connection is cut
    pace_s: float = 0.0  # between two pieces of a streamed answer
    hurry: threading.Event = field(default_factory=threading.Event)  # once set, without that pause
    drips: bool = False  # the body again and again, without end
    fits: Callable[[Request], bool] = lambda _: True  # whose answer it may be


class StubModel:
    """The server, listening on a free loopback port while the block runs."""

    def __init__(
        self,
        *,
        refuses: tuple[str, ...] = (),
        key: str | None = None,
        models: tuple[Mapping[str, Any], ...] = ({"id": "stub", "object": "model"},),
        streams: bool = True,
        can: tuple[str, ...] = ("json_schema",),
    ) -> None:
        self.refuses = refuses
        """What is refused: response formats, such as ``json_schema``, and ``tools``."""
        self.refuse_status = 400
        self.key = key
        self.models = models
        self.streams = streams
        """Whether ``stream`` is honoured; otherwise the answer comes as a whole."""
        self.can = can
        """What it shows when it is asked for its abilities: ``tools``, ``vision``, ``json_schema``, or
        a format of calls in text. Such questions are kept apart, in `probes`.
        """
        self.probes: list[Request] = []
        self.may_show = threading.Event()
        """Until it is set such a question waits for its answer."""
        self.may_show.set()
        self.knows: tuple[str, ...] = ()
        """The models that it has; none is any."""
        self.listed: list[dict[str, str]] = []
        """Headers of the requests for the list of models."""
        self.requests: list[Request] = []
        """Bodies that were answered with a completion: the generation calls."""
        self.refused: list[Request] = []
        self.headers: list[dict[str, str]] = []
        self._script: list[_Scripted] = []
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def reply(
        self,
        answer: Reply,
        *,
        wait_for: threading.Event | None = None,
        breaks_after: int | None = None,
        pace_s: float = 0.0,
        hurry: threading.Event | None = None,
    ) -> Self:
        """Add an answer: the text itself, an object to be sent as JSON text, or a function."""
        scripted = _Scripted(answer, wait_for=wait_for, breaks_after=breaks_after, pace_s=pace_s)
        self._script.append(replace(scripted, hurry=hurry) if hurry else scripted)
        return self

    def call(self, *calls: tuple[str, Mapping[str, Any] | str], text: str = "") -> Self:
        """Add an answer that asks for tools: (name, arguments), the arguments as they are if text."""
        self._script.append(_Scripted(text, tool_calls=_wanted(calls)))
        return self

    def choose(self, choose: Callable[[Request], Sequence[tuple[str, Mapping[str, Any]]]]) -> Self:
        """Add an answer that asks for the tools that a function of the request names; none is prose."""
        self._script.append(_Scripted("", choose=choose))
        return self

    def fail(
        self,
        status: int,
        message: str = "",
        *,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Add an error in OpenAI's shape."""
        body = json.dumps({"error": {"message": message, "code": code, "type": "error"}}).encode()
        self._script.append(_Scripted(status=status, body=body, headers=headers or {}))
        return self

    def raw(self, body: bytes, content_type: str = "application/json", status: int = 200) -> Self:
        """Add a response that is sent as it is."""
        self._script.append(_Scripted(status=status, body=body, content_type=content_type))
        return self

    def drip(
        self, *, pace_s: float = 0.02, said: str = "", fits: Callable[[Request], bool] = lambda _: True
    ) -> Self:
        """Add an answer that never ends: a stream that says something, then a sign of life now and then.

        Only a request that it `fits` is answered so; for others it is not there.
        """
        begun = (
            _stream({"model": "stub"}, said).splitlines(keepends=True)[:-4] if said else []
        )  # without how it ends
        body = b"".join([*begun, _ALIVE])
        scripted = _Scripted(body=body, content_type="text/event-stream", drips=True, pace_s=pace_s)
        self._script.append(replace(scripted, fits=fits))
        return self

    def anew(self) -> Self:
        """Forget the script and what was asked."""
        self._script.clear()
        self.requests.clear()
        return self

    def prompt(self, n: int = -1) -> str:
        """All messages of a generation call as one text."""
        return "\n\n".join(str(message["content"]) for message in self.requests[n]["messages"])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _next(self, request: Request) -> _Scripted:
        with self._lock:
            at = next((at for at, each in enumerate(self._script) if each.fits(request)), None)
            if at is None:
                raise AssertionError("the stub model was asked and has no reply")
            return self._script.pop(at) if len(self._script) > 1 else self._script[at]

    def _answer(self, request: Request, headers: dict[str, str]) -> _Scripted:
        self.headers.append(headers)
        form = request.get("response_format") or (request.get("text") or {}).get("format") or {}
        wanted = form.get("type")
        if request.get("tools") and "tools" in self.refuses:
            wanted = "tools"
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided")
        if self.knows and request["model"] not in self.knows:
            return _error(404, f"model {request['model']!r} not found")
        if _is_probe(request):
            self.probes.append(request)
            self.may_show.wait(120)
            return self._shown(request)
        if wanted in self.refuses:
            self.refused.append(request)
            return _error(self.refuse_status, f"{wanted!r}: no such thing here")
        scripted = self._next(request)
        if scripted.wait_for is not None:
            scripted.wait_for.wait(120)  # longer than any test waits for anything
        if scripted.answer is None:
            return scripted
        self.requests.append(request)
        answer = scripted.answer(request) if callable(scripted.answer) else scripted.answer
        if scripted.choose is not None:
            chosen = _wanted(scripted.choose(request))
            scripted = replace(scripted, tool_calls=chosen)
            answer = "" if chosen else "Nothing to look up."
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        if request.get("stream") and self.streams:
            body = _stream(request, text, scripted.tool_calls)
            return _Scripted(
                body=body,
                content_type="text/event-stream",
                breaks_after=scripted.breaks_after,
                pace_s=scripted.pace_s,
                hurry=scripted.hurry,
            )
        return _Scripted(body=json.dumps(_completion(request, text, scripted.tool_calls)).encode())

    def _shown(self, request: Request) -> _Scripted:
        """The answer to a question for an ability."""
        text, calls = "I cannot.", ()
        if abilities.LOOK in str(request["messages"]):
            if "vision" not in self.can:
                return _error(400, "image input is not supported")
            text = abilities.NUMBER
        elif request.get("tools"):
            calls = _wanted((("note_word", {"word": "blue"}),)) if "tools" in self.can else ()
        elif abilities.CALL_IT in str(request["messages"]):
            text = next((_WRITTEN_CALLS[form] for form in self.can if form in _WRITTEN_CALLS), text)
        elif not request.get("response_format") or "json_schema" in self.can:
            text = '{"word": "blue", "number": 7}'
        else:
            return _error(400, "response_format is not supported")
        if request.get("stream") and self.streams:
            return _Scripted(body=_stream(request, text, calls), content_type="text/event-stream")
        return _Scripted(body=json.dumps(_completion(request, text, calls)).encode())

    def _list(self, path: str, headers: dict[str, str]) -> _Scripted:
        if path != "/v1/models":
            return _error(404, f"no such path {path}")
        self.listed.append(headers)
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "Incorrect API key provided")
        return _Scripted(body=json.dumps({"object": "list", "data": list(self.models)}).encode())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                request = json.loads(self.rfile.read(length) or b"{}")
                if self.path != "/v1/chat/completions":
                    self._send(_error(404, f"no such path {self.path}"))
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(stub._answer(request, headers))

            def do_GET(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(stub._list(self.path, headers))

            def _send(self, scripted: _Scripted) -> None:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # asker gave up
                    self._write(scripted)

            def _write(self, scripted: _Scripted) -> None:
                self.send_response(scripted.status)
                self.send_header("content-type", scripted.content_type)
                if not scripted.drips:
                    self.send_header("content-length", str(len(scripted.body)))
                for name, value in scripted.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                body = scripted.body[: scripted.breaks_after]
                pieces = body.splitlines(keepends=True) if scripted.pace_s else [body]
                for piece in pieces:
                    self.wfile.write(piece)
                    scripted.hurry.wait(scripted.pace_s)
                while scripted.drips and not stub._is_over.wait(scripted.pace_s):
                    self.wfile.write(_ALIVE)
                if scripted.breaks_after is not None:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass  # pytest shows what matters

        return Handler


_WRITTEN_CALLS = {
    "functionary": '<function=note_word>{"word": "blue"}</function>',
    "command-r": 'Action: ```json\n[{"tool_name": "note_word", "parameters": {"word": "blue"}}]\n```',
    "llama31": '<|python_tag|>{"name": "note_word", "parameters": {"word": "blue"}}',
}


def _is_probe(request: Request) -> bool:
    told = str(request.get("messages"))
    return any(question in told for question in (abilities.CALL_IT, abilities.LOOK, abilities.FILL_IN))


def _wanted(calls: Sequence[tuple[str, Mapping[str, Any] | str]]) -> tuple[Mapping[str, Any], ...]:
    """Calls as the protocol has them."""
    return tuple(
        {
            "id": f"call_{n}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": given if isinstance(given, str) else json.dumps(given),
            },
        }
        for n, (name, given) in enumerate(calls, 1)
    )


def _error(status: int, message: str) -> _Scripted:
    return _Scripted(status=status, body=json.dumps({"error": {"message": message}}).encode())


def _completion(
    request: Request, text: str, tool_calls: tuple[Mapping[str, Any], ...] = ()
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if tool_calls:
        message["tool_calls"] = list(tool_calls)
    return {
        "id": "stub-1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if tool_calls else "stop"}
        ],
        "usage": _usage(request, text),
    }


def _usage(request: Request, text: str) -> dict[str, int]:
    sent = sum(len(str(message["content"])) for message in request["messages"])
    return {
        "prompt_tokens": sent // 4,
        "completion_tokens": len(text) // 4,
        "total_tokens": (sent + len(text)) // 4,
    }


def _stream(request: Request, text: str, tool_calls: tuple[Mapping[str, Any], ...] = ()) -> bytes:
    """Server-sent events, one for every few characters, as the protocol has them."""
    deltas: list[dict[str, Any]] = [{"content": text[at : at + 5]} for at in range(0, len(text), 5)]
    for index, call in enumerate(tool_calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        begun = {"index": index, "id": call["id"], "type": "function", "function": {"name": name}}
        deltas.append({"tool_calls": [begun]})
        for at in range(0, len(arguments), 7):
            piece = {"index": index, "function": {"arguments": arguments[at : at + 7]}}
            deltas.append({"tool_calls": [piece]})
    ends = [(delta, None) for delta in deltas] + [({}, "tool_calls" if tool_calls else "stop")]
    chunks = [
        {
            "id": "stub-1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": request["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
        for delta, finish in ends
    ]
    if (request.get("stream_options") or {}).get("include_usage"):
        chunks.append({**chunks[-1], "choices": [], "usage": _usage(request, text)})
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
