"""Serving: on stdin and stdout for a program that started us, or over HTTP on loopback.

Over HTTP a bearer token is asked for, the one for reading (`recollect token --reading`) or the
one to everything; Host and Origin must be ours, so that no web page can reach it by a name of its
own (DNS rebinding, lesson SEC-4).
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from assistant.core.query_embedder import QueryEmbedder
from assistant.read_api.calls import ReadSources
from store.core.database import open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.frames.media import Media
from webapp.integrations.server import make_server
from webapp.security import access
from webapp.security.address import listen

log = logging.getLogger(__name__)

HOST = "127.0.0.1"
PATH = "/mcp"
_NAMES = ("127.0.0.1", "localhost", "[::1]")

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def library_of(data_dir: DataDir, settings: Settings) -> ReadSources:
    """The home folder as doors read it; its database is opened, the pages need not run."""
    database = open_database(data_dir)
    embedder = QueryEmbedder(settings.embedding, database)
    return ReadSources(database, Media(data_dir.media), settings, embedder, now_ms)


def serve_stdio(data_dir: DataDir, settings: Settings) -> None:
    """Speak the protocol until stdin ends. Nothing else reaches stdout: the SDK guards it."""
    make_server(library_of(data_dir, settings), "mcp").run("stdio")


def serve_http(data_dir: DataDir, settings: Settings, tell: Callable[[str], object]) -> None:
    """Speak the protocol over HTTP until a signal ends it; `tell` gets the address.

    Raises `PortInUse`.
    """
    with listen(HOST, settings.mcp.port) as listener:
        port = listener.getsockname()[1]
        app = http_app(library_of(data_dir, settings), access.load_token(data_dir), port)
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
        tell(f"http://{HOST}:{port}{PATH}")
        anyio.run(_serve, uvicorn.Server(config), listener)


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    await server.serve(sockets=[listener])


def http_app(library: ReadSources, token: str, port: int) -> _App:
    """The ASGI application: the token first, then Host and Origin, then the protocol.

    Every request stands alone (no sessions to steal or to keep), and is answered as JSON.
    """
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:{port}" for name in _NAMES],
        allowed_origins=[f"http://{name}:{port}" for name in _NAMES],
    )
    app = make_server(library, "mcp_http").streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=security
    )
    return _with_token(app, token)


def _with_token(app: Any, token: str) -> _App:
    async def guarded(scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http" and not access.may_read(_shown(scope), token):
            await _refuse(send)
            return
        await app(scope, receive, send)

    return guarded


def _shown(scope: _Scope) -> str:
    """The bearer token of a request; more than one Authorization header is none."""
    found = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, shown = found[0].decode("latin-1").partition(" ") if len(found) == 1 else ("", "", "")
    return shown.strip() if scheme.lower() == "bearer" else ""


async def _refuse(send: _Send) -> None:
    detail = "A bearer token is needed; `recollect token --reading` prints it."
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"www-authenticate", b"Bearer"),
        (b"cache-control", b"no-store"),
    ]
    problem = {"title": "Unauthorized", "status": 401, "code": "unauthorized", "detail": detail}
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
