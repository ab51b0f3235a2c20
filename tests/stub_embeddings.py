"""A real HTTP server that speaks as much of ``POST /embeddings`` as is needed, on a loopback port."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from engines.chat.protocol import OutgoingRequest
from engines.embeddings.protocol import EmbedderOptions
from tests.fake_embedder import FakeEmbedder


class Notes:
    """What was announced, and what became of it."""

    def __init__(self) -> None:
        self.sent: list[OutgoingRequest] = []
        self.outcomes: list[tuple[str, int | None]] = []
        self.failure: Exception | None = None

    def __call__(self, sending: OutgoingRequest) -> None:
        if self.failure is not None:
            raise self.failure
        self.sent.append(sending)

    def finish(self, outcome: str, input_tokens: int | None = None) -> None:
        self.outcomes.append((outcome, input_tokens))


class Endpoint:
    """Vectors of the fake embedder, while the block runs. `bodies` and `requests` are what came."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.status = 200
        self.refuses = ""
        self.body: Callable[[list[str]], Any] = self._vectors
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                asked = json.loads(endpoint.bodies[-1])
                endpoint.requests.append(asked)
                refused = endpoint.refuses and any(endpoint.refuses in text for text in asked["input"])
                status = 400 if refused else endpoint.status
                answer = endpoint.body(asked["input"]) if status == 200 else {"error": {"message": "no"}}
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    @property
    def options(self) -> EmbedderOptions:
        url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        return EmbedderOptions("m", url, "key", 5, self.notes)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @staticmethod
    def _vectors(texts: list[str]) -> Any:
        rows = 3 * FakeEmbedder().embed(texts)
        data = [{"object": "embedding", "index": n, "embedding": row.tolist()} for n, row in enumerate(rows)]
        # The order of the answer is not promised, the index is.
        return {"object": "list", "model": "m", "data": data[::-1], "usage": {}}
