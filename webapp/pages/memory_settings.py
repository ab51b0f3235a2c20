"""Settings, Memory: what models are told of earlier chats, who summarises them, whose screen this is, and
forgetting all of it.
"""

from __future__ import annotations

from typing import cast, get_args

from flask import request
from werkzeug.wrappers import Response

from assistant.context.session_closing import off_by_settings
from assistant.core.prompt_blocks import BACKGROUND_ROOM
from store.core import preferences
from store.core.translation import N_
from store.core.translation import gettext as _
from store.memory import chat_digests, chat_sessions
from store.memory.chat_sessions import SummarisedBy
from store.sources import entities
from store.sources.entities import Provenance
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.parameters import FORGET, is_confirmed, number
from webapp.core.services import services

AMOUNTS = {N_("A little"): 1_000, N_("Some"): 2_000, N_("As much as helps"): BACKGROUND_ROOM}
"""How much of earlier chats a question is told at most, in characters."""


@templating.get("/settings/memory")
def show() -> Response:
    """Everything about memory that a person decides."""
    return _page()


def _page(status: int = 200, problems: dict[str, str] | None = None) -> Response:
    own, database = services(), services().database
    settings = own.settings.context
    chars = chat_sessions.pack_chars(database, settings.pack_max_chars)
    hosts = {info.host for info in own.chat_models.describe() if info.host and not info.is_local}
    return templating.render_page(
        "settings/memory.html",
        status,
        is_off=chat_sessions.is_off(database),
        off=off_by_settings(own.context),
        amounts={_(words): most for words, most in AMOUNTS.items()},
        amount=min(AMOUNTS.values(), key=lambda each: abs(each - chars)),
        summarised_by=chat_sessions.summarised_by(database, settings.summaries),
        hosts=sorted(hosts),
        needs_yes=not hosts <= chat_sessions.summary_hosts(database),
        owner=entities.owner(database),
        people=entities.find_entities(database, "", "person", 200),
        goes={_(kind): names for kind, names in chat_digests.by_name(database).items()},
        receipt=chat_digests.forgotten(database),
        confirmation=_(FORGET),
        problems=problems or {},
    )


@templating.post("/settings/memory")
def save() -> Response:
    """Whether models are told of earlier chats (``told``), how much, and who summarises."""
    database, form = services().database, request.form
    who = form.get("summaries", "")
    most = number(form, "chars", 6)
    if who not in get_args(SummarisedBy) or most is None or most not in AMOUNTS.values():
        raise Problem(400, "invalid_request", _("Choose how much models are given and who summarises."))
    # The yes is for the hosts that the page named; one that is set up later is asked about again.
    agreed = chat_sessions.summary_hosts(database)
    if form.get("consent") == "yes":
        agreed |= {host for host in form.getlist("host") if host}
    if who == "any" and not agreed and form.get("consent") != "yes":
        return _page(422, {"consent": _("Say yes: your questions and answers would leave this computer.")})
    preferences.set_preference(database, chat_sessions.OFF, form.get("told") != "on")
    preferences.set_preference(database, chat_sessions.CHARS, most)
    chat_sessions.set_summarised_by(database, cast(SummarisedBy, who), agreed)
    return templating.redirect_to("/settings/memory")


@templating.post("/settings/memory/owner")
def choose_owner() -> Response:
    """Whose screen this is: a person of memory, a new one by name, or nobody."""
    own, name = services(), request.form.get("name", "").strip()
    chosen = number(request.form, "owner")
    if name:
        try:
            with own.database.write() as connection:
                chosen, __ = entities.store_entity(connection, "person", name, Provenance(own.clock()))
        except ValueError as error:
            return _page(422, {"name": _("Say it otherwise: %(problem)s.", problem=error)})
    entities.set_owner(own.database, chosen)
    return templating.redirect_to("/settings/memory")


@templating.post("/settings/memory/forget")
def forget() -> Response:
    """Forget all of it, when the word was typed."""
    own = services()
    if not is_confirmed(FORGET):
        return _page(422, {"confirm": _("Type %(word)s to forget it for good.", word=_(FORGET))})
    chat_digests.delete_everything(own.database, own.clock())
    return templating.redirect_to("/settings/memory#forget")
