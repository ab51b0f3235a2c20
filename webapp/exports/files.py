"""Exports as the current request may have them: the answer, today's rules, and the file to send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flask import Response, request

from assistant.core.records import TurnResult
from store.core import copies
from store.core.translation import gettext as _
from store.privacy import rules as privacy
from store.privacy.rules import RuleSet
from webapp.core.errors import Problem
from webapp.core.services import services, stored_turn_or_404
from webapp.exports import formats
from webapp.exports.pack import Pack, Size, pack
from webapp.views.turns import reported

FORMATS = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "zip": "application/zip",
    "proof": "application/zip",
}


@contextmanager
def export_pack(
    chat_id: int, n: int, size_of: Callable[[int], Size], *, with_files: bool = False
) -> Iterator[Pack]:
    """An answered turn with the pictures that are wanted, and the attached files where they are.

    Whatever is made of it is made within the block: at its end nothing of it may have been deleted, nor
    another rule be in force. Raises 404 when there is no such turn, and 409 when it has no answer (yet) or
    the block has to be done again.
    """
    own = services()
    state = _state(chat_id, n)
    turn, rules = state[:2]
    if turn.status != "done":
        raise Problem(409, "turn_not_answered", f"Turn {n} of chat {chat_id} has no answer to export.")
    wrong = (report.n for report in reported(own.database, turn) if report.verdict == "wrong" and report.n)
    yield pack(
        own.database,
        own.media,
        rules,
        turn,
        origin=request.host_url.rstrip("/"),
        made_ms=own.clock(),
        withdrawn=frozenset(wrong),
        size_of=size_of,
        with_files=with_files,
    )
    if _state(chat_id, n) != state:
        raise Problem(
            409,
            "changed_meanwhile",
            _("Something was deleted or changed while this was being written; export it again."),
        )


def _state(chat_id: int, n: int) -> tuple[TurnResult, RuleSet, str]:
    """What an export rests on. A deletion changes the turn at its beginning, the generation at its end."""
    own = services()
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    return stored_turn_or_404(chat_id, n), rules, copies.generation(own.database)


def answer_file(pack: Pack, fmt: str) -> Response:
    """The export as a download; `fmt` is one of `FORMATS`."""
    if FORMATS[fmt] == "application/zip":
        content = formats.archive(pack, services().data_dir)
    else:
        content = (formats.html_document if fmt == "html" else formats.markdown_document)(pack).encode()
    suffix = "proof.zip" if fmt == "proof" else fmt  # beside a bundle of the same answer
    return download(content, FORMATS[fmt], formats.file_name(pack, suffix))


def download(content: bytes, content_type: str, name: str) -> Response:
    """A file that the browser keeps; nobody on the way does (`webapp.security.guards.protect`)."""
    response = Response(content, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
