"""A client that leaves takes its question along: what was asked for it is stopped inside SQLite.

Only for requests that read. A change is finished, and so is an answer of the chat, which is kept
(ux.md 1.10). What reads without a deadline is finished, too.
"""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack

from flask import Flask, g, request

from webapp.core.services import services


def install(app: Flask) -> None:
    """Watch the connection of every GET while it is answered."""
    app.before_request(_watch)
    app.teardown_request(_unwatch)


def is_disconnected(connection: socket.socket) -> bool:
    """Whether the other side has closed: the connection can be read and there is nothing."""
    try:
        readable, _, _ = select.select([connection], [], [], 0)
        return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):  # reset, or closed on this side
        return True


def _watch() -> None:
    # Werkzeug's server names it; other servers keep it to themselves.
    connection = request.environ.get("werkzeug.socket")
    if request.method != "GET" or connection is None:
        return
    g.watched = ExitStack()
    g.watched.enter_context(services().database.while_wanted(lambda: is_disconnected(connection)))


def _unwatch(_: BaseException | None) -> None:
    watched: ExitStack | None = g.pop("watched", None)
    if watched is not None:
        watched.close()
