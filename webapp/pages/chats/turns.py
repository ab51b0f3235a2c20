"""One answer in a chat: its sources marked as wrong, copies of it, its export, and its tool calls decided."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from zoneinfo import ZoneInfo

from flask import make_response, request
from werkzeug.wrappers import Response

from assistant.core.errors import TurnRefused
from assistant.core.records import TurnResult
from assistant.formats.parsing import Call
from assistant.turns import stored_turns
from store.chats import feedback, tool_calls
from store.chats.records import Chat
from store.chats.tool_calls import ApprovalScope, NotPending, ToolCall
from store.core.translation import gettext as _
from store.sources import proposals
from webapp.api.questions import start_check
from webapp.api.tool_calls import decide
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.services import Viewer, chat_or_404, services, stored_turn_or_404, turn_or_404, viewer
from webapp.exports import files, formats
from webapp.exports.pack import Size
from webapp.pages.chats.routes import PATIENCE_S, followed, refused_page, started, turn_fragment
from webapp.views.evidence import is_retryable
from webapp.views.turns import turn_view

_DECISIONS: dict[str, ApprovalScope | None] = {
    "deny": None, "once": "once", "chat": "chat", "always": "always"
}  # fmt: skip


@templating.post("/chat/<id:chat_id>/turns/<id:n>/sources/<id:source>")
def report(chat_id: int, n: int, source: int) -> Response:
    """Mark a source as wrong (``note`` says why), or take that back (``verdict=withdraw``)."""
    own = services()
    if request.form.get("verdict") == "withdraw":
        feedback.withdraw(own.database, chat_id, n, source)
    else:
        note = request.form.get("note", "")
        is_source = source != feedback.WHOLE_ANSWER
        if not (is_source and feedback.report(own.database, chat_id, n, source, "wrong", note, own.clock())):
            raise Problem(
                404,
                "source_not_found",
                _(
                    "Turn %(turn)s of chat %(chat)s cites no source %(source)s.",
                    turn=n,
                    chat=chat_id,
                    source=source,
                ),
            )
    turn = stored_turn_or_404(chat_id, n)
    if not templating.wants_fragment():
        return templating.redirect_to(f"/chat/{chat_id}#t{n}e{source}")
    return templating.render_page("chat/turn.html", view=turn_view(own, turn, viewer().now_ms))


@templating.get("/chat/<id:chat_id>/turns/<id:n>/copy")
def copy(chat_id: int, n: int) -> Response:
    """The answer as ``md`` or ``html``, for the clipboard: the export's own words."""
    write = {"md": formats.markdown_document, "html": formats.fragment}.get(request.args.get("as", "md"))
    if write is None:
        raise Problem(400, "invalid_request", "An answer is copied as md or html.")
    with files.export_pack(chat_id, n, lambda source: "none") as pack:
        return make_response(write(pack), 200, {"Content-Type": "text/plain; charset=utf-8"})


@templating.get("/chat/<id:chat_id>/turns/<id:n>/export")
def export(chat_id: int, n: int) -> Response:
    """What would be exported, every picture with a tick; with ``fmt`` the file.

    ``picture`` names the sources whose pictures come along, ``size<n>`` says crop or full; with
    ``chosen`` only those that are ticked, without it all of them as crops.
    """
    fmt = request.args.get("fmt", "")
    if fmt and fmt not in files.FORMATS:
        raise Problem(400, "invalid_request", f"An answer is exported as {', '.join(files.FORMATS)}.")
    with_files = fmt in ("zip", "proof") and request.args.get("files") == "1"
    with files.export_pack(
        chat_id, n, _size if fmt else lambda source: "none", with_files=with_files
    ) as pack:
        if fmt:
            return files.answer_file(pack, fmt)
    turn, who = pack.turn, viewer()
    return templating.render_page(
        "chat/export.html",
        turn=turn,
        is_left_out=pack.is_left_out,
        sources=pack.sources,
        range_label=formatting.span(turn.start_ms, turn.end_ms, ZoneInfo(turn.timezone), who.now_ms),
        withheld=sum(bool(source.withheld) for source in pack.sources),
    )


def _size(n: int) -> Size:
    if request.args.get("chosen") and str(n) not in request.args.getlist("picture"):
        return "none"
    is_whole = request.args.get("fmt") == "proof" or request.args.get(f"size{n}") == "full"
    return "full" if is_whole else "crop"


@templating.post("/chat/<id:chat_id>/turns/<id:n>/check")
def check(chat_id: int, n: int) -> Response:
    """Let the model of an answer compare its sentences with their quotes."""
    chat_or_404(chat_id)
    live = start_check(chat_id, n, None)
    live.settle(PATIENCE_S)
    if templating.wants_fragment():
        return turn_fragment(chat_id, n)
    return templating.redirect_to(f"/chat/{chat_id}#t{n}")


@templating.post("/chat/<id:chat_id>/turns/<id:n>/retry")
def retry(chat_id: int, n: int) -> Response:
    """Ask a question whose turn failed again, with everything that it was asked with."""
    chat, asked, who = chat_or_404(chat_id), stored_turn_or_404(chat_id, n), viewer()
    if asked.status != "failed":
        raise Problem(
            409, "turn_not_failed", _("Turn %(turn)s of chat %(chat)s has not failed.", turn=n, chat=chat_id)
        )
    return _ask_again(chat, asked, who)


@templating.post("/chat/<id:chat_id>/turns/<id:n>/calls/<id:call_id>")
def decide_call(chat_id: int, n: int, call_id: int) -> Response:
    """Decide about a waiting tool call: ``deny``, or allow ``once``, in this ``chat``, or ``always``."""
    decision = request.form.get("decision", "")
    if decision not in _DECISIONS:
        raise Problem(400, "invalid_request", "A decision is deny, once, chat or always.")
    _call(chat_id, n, call_id)
    try:
        decide(services(), call_id, _DECISIONS[decision])
    except Problem as problem:
        # Decided elsewhere, or too late: the turn as it is now says which.
        if problem.status != 409 or not templating.wants_fragment():
            raise
    return followed(chat_id, n)


@templating.post("/chat/<id:chat_id>/turns/<id:n>/remember")
def remember(chat_id: int, n: int) -> Response:
    """Remember what the person kept of the proposals, ``none``, or also later ones of this ``chat``."""
    own, turn, decision = services(), turn_or_404(chat_id, n), request.form.get("decision")
    kept = [int(text) for text in request.form.getlist("keep") if text.isdecimal() and len(text) < 19]
    if decision not in ("keep", "none", "chat"):
        raise Problem(400, "invalid_request", "A decision is keep, none or chat.")
    if turn.status != "running":
        with suppress(NotPending):  # decided elsewhere: the turn as it is now says so
            chosen = [] if decision == "none" else kept
            scope: ApprovalScope = "chat" if decision == "chat" else "once"
            proposals.decide(own.database, chat_id, n, chosen, own.clock(), scope=scope)
    return turn_fragment(chat_id, n) if templating.wants_fragment() else followed(chat_id, n)


@templating.post("/chat/<id:chat_id>/turns/<id:n>/calls/<id:call_id>/retry")
def retry_call(chat_id: int, n: int, call_id: int) -> Response:
    """Make a call that failed again, in a new turn that goes on from its result."""
    chat, asked, who = chat_or_404(chat_id), stored_turn_or_404(chat_id, n), viewer()
    call = _call(chat_id, n, call_id)
    if not is_retryable(call) or asked.status == "running":
        raise Problem(
            409, "tool_call_not_failed", _("Tool call %(call)s cannot be tried again.", call=call_id)
        )
    return _ask_again(chat, asked, who, Call("again_1", call.tool, json.loads(call.arguments)))


def _ask_again(chat: Chat, asked: TurnResult, who: Viewer, first_call: Call | None = None) -> Response:
    """A question once more, with everything that it was asked with, or going on from the result of a call."""
    question = stored_turns.replay_request(services().database, asked, who.now_ms)
    question = replace(question, model=request.form.get("model") or question.model, first_call=first_call)
    question = replace(question, mode="agent") if first_call else question
    try:
        live = started(replace(question, day_start_min=who.day_start_min, week_start=who.week_start))
    except TurnRefused as refusal:
        return refused_page(chat, refusal, who)
    live.settle(PATIENCE_S)
    if first_call and templating.wants_fragment():
        return turn_fragment(chat.id, live.n)
    return templating.redirect_to(f"/chat/{chat.id}#t{live.n}")


def _call(chat_id: int, n: int, call_id: int) -> ToolCall:
    """A tool call of this turn. Raises 404."""
    call = tool_calls.get(services().database, call_id)
    if call is None or (call.chat_id, call.turn) != (chat_id, n):
        raise Problem(
            404, "tool_call_not_found", _("There is no tool call %(call)s in this turn.", call=call_id)
        )
    return call
