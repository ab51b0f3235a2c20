"""What was sent: every request that carried text or a picture, when, where to, and its very text."""

from __future__ import annotations

import json

from flask import request
from werkzeug.wrappers import Response

from assistant.core.errors import words_for
from store.core.translation import N_
from store.core.translation import gettext as _
from store.egress import egress_log
from store.egress.egress_log import Purpose, SentRequest
from webapp.core import templating
from webapp.core.parameters import number
from webapp.core.services import services, turn_or_404
from webapp.pages.models.prompt_blocks import prompt_sent

PAGE = 50
DAYS = 30
_DAY_MS = 86_400_000
_OUTCOMES = {
    "answered": N_("answered"),
    "asked_again": N_("refused, asked again"),
    "sent": N_("no answer is known"),
    "no_vectors": N_("no vectors came back"),
    "texts_refused": N_("the texts were refused"),
}
_PURPOSES: dict[Purpose, str] = {
    "answer": N_("question"),
    "search": N_("search by meaning"),
    "embed": N_("texts made findable by meaning"),
    "refine": N_("memory in better words"),
    "test": N_("test of what a model can do"),
    "describe": N_("picture for a description"),
    "web_search": N_("search of the web"),
}


@templating.get("/settings/sent")
def show() -> Response:
    """Requests, newest first, and what each model was sent in the last 30 days."""
    own = services()
    only = next((purpose for purpose in _PURPOSES if purpose == request.args.get("purpose")), None)
    listed = egress_log.latest(own.database, PAGE + 1, number(request.args, "before"), only)
    return templating.render_page(
        "egress/sent.html",
        requests=listed[:PAGE],
        outcome=_outcome,
        older=listed[PAGE - 1].id if len(listed) > PAGE else None,
        totals=egress_log.totals_since(own.database, own.clock() - DAYS * _DAY_MS),
        days=DAYS,
        purposes=_purposes(),
        only=only or "",
        most_rows=egress_log.MAX_ROWS,
        most_texts=egress_log.MAX_TEXTS,
    )


@templating.get("/settings/sent/<id:request_id>")
def one(request_id: int) -> Response:
    """One request with its text."""
    return _page([egress_log.get(services().database, request_id)], "settings", "/settings/sent")


@templating.get("/chat/<id:chat_id>/turns/<id:n>/sent")
def for_answer(chat_id: int, n: int) -> Response:
    """Everything that was sent for one answer."""
    turn = turn_or_404(chat_id, n)
    requests = egress_log.of_turn(services().database, chat_id, n)
    return _page(requests, "chat", f"/chat/{chat_id}#t{n}", turn.question[:80])


def _page(requests: list[SentRequest], section: str, back: str, question: str = "") -> Response:
    return templating.render_page(
        "egress/requests.html",
        requests=requests,
        section=section,
        back=back,
        question=question,
        purposes=_purposes(),
        outcome=_outcome,
        parts_of=_parts,
        prompt_of=prompt_sent,
    )


def _purposes() -> dict[Purpose, str]:
    return {purpose: _(words) for purpose, words in _PURPOSES.items()}


def _outcome(sent: SentRequest) -> str:
    known = _OUTCOMES.get(sent.outcome)
    return _(known) if known else words_for(sent.outcome)


def _parts(body: str) -> list[tuple[str, str]]:
    """The messages of a request's body, for reading; the body itself is shown beside them.

    A picture is named where it stood.
    """
    try:
        document = json.loads(body)
        if "input" in document:
            return [("text", str(text)) for text in document["input"]]
        return [(str(message["role"]), _content(message["content"])) for message in document["messages"]]
    except (ValueError, KeyError, TypeError):
        return []


def _content(content: object) -> str:
    """The text of a message; of one in parts, its texts and pictures one below the other."""
    if not isinstance(content, list):
        return str(content)
    images = (part.get("image_url") for part in content)  # in one protocol an object with the address
    return "\n".join(
        part["text"] if "text" in part else f"[{image['url'] if isinstance(image, dict) else image}]"
        for part, image in zip(content, images, strict=True)
    )
