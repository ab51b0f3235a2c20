"""Exports as the current request may have them: the answer, today's rules, and the file to send."""

from __future__ import annotations

from collections.abc import Callable

from flask import Response, request

from assistant.turns.turn import UnknownChat, stored_turn
from store.privacy import rules
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.exports import bundle, formats, page
from webapp.exports.pack import Pack, Size, pack
from webapp.views.views_turns import reported

FORMATS = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "zip": "application/zip",
}


def export_pack(chat_id: int, n: int, size_of: Callable[[int], Size], *, with_files: bool = False) -> Pack:
    """An answered turn with the pictures that are wanted, and the attached files where they are.

    Raises 404 when there is no such turn and 409 when it has no answer (yet).
    """
    own = services()
    try:
        turn = stored_turn(own.database, chat_id, n)
    except UnknownChat as error:
        raise Problem(404, "turn_not_found", f"There is no turn {n} in chat {chat_id}.") from error
    if turn.status != "done":
        raise Problem(409, "turn_not_answered", f"Turn {n} of chat {chat_id} has no answer to export.")
    wrong = (each.n for each in reported(own.database, turn) if each.verdict == "wrong" and each.n)
    return pack(
        own.database,
        own.media,
        rules.load_rules(own.data_dir, own.settings.privacy),
        turn,
        origin=request.host_url.rstrip("/"),
        made_ms=own.clock(),
        withdrawn=frozenset(wrong),
        size_of=size_of,
        with_files=with_files,
    )


def answer_file(found: Pack, fmt: str) -> Response:
    """The export as a download; `fmt` is one of `FORMATS`."""
    content = {
        "md": lambda: formats.markdown_document(found).encode(),
        "html": lambda: page.html_document(found).encode(),
        "zip": lambda: bundle.archive(found),
    }[fmt]()
    response = Response(content, content_type=FORMATS[fmt])
    name = bundle.file_name(found, fmt)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "private, no-store"
    return response
