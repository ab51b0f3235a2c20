"""What the pages of a chat draw: the conversations at the side, the turns of one, and the composer."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from assistant.core.models import ChatModels
from assistant.core.records import TurnResult
from assistant.turns.stored_turns import stored_turn
from store.chats import conversations, personas
from store.chats.attachments import Attachment
from store.chats.records import Chat
from store.core.database import Database
from store.core.times import to_local
from store.core.translation import gettext as _
from store.frames.frames import FrameRow
from store.memory import chat_sessions
from webapp.core import formatting
from webapp.core.parameters import NO_RANGE, Range, of_span
from webapp.core.services import Services, Viewer
from webapp.pages.chats.memory import topic_of
from webapp.pages.chats.suggestions import suggestions
from webapp.views.turns import TurnView, turn_view

LISTED_CHATS = 60
DRAWN_TURNS = 6
"""So many answers are drawn, the newest; of those before them the questions, until one is asked for."""
AROUND_MS = 5 * 60_000
MAX_FIND_CHARS = 200
_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


def chat_list(database: Database, viewer: Viewer, find: str = "", before: str = "") -> dict[str, Any]:
    """A page of the list: chats by day, newest first, what is searched for, and the address of the next page.

    `before` is the place that `older`, that address, names; anything else is the beginning.
    """
    find = " ".join(find[:MAX_FIND_CHARS].split())
    match = _PLACE.fullmatch(before)
    place = (int(match[1]), int(match[2])) if match else None
    chats = conversations.list_chats(database, LISTED_CHATS + 1, place, find)
    older = ""
    if len(chats) > LISTED_CHATS:
        chats = chats[:LISTED_CHATS]
        last = f"{chats[-1].updated_ms}-{chats[-1].id}"
        older = "/chats?" + urlencode({**({"q": find} if find else {}), "before": last})
    return dict(groups=_groups(chats, viewer), find=find, older=older)


def _groups(chats: list[Chat], viewer: Viewer) -> list[tuple[str, list[Chat]]]:
    today = viewer.today.date
    names = {today: _("Today"), today - timedelta(days=1): _("Yesterday")}
    by_day = groupby(chats, key=lambda chat: to_local(chat.updated_ms, viewer.zone).date())
    return [(names.get(on) or formatting.date_long(on), list(of_day)) for on, of_day in by_day]


@dataclass(frozen=True, slots=True)
class Composer:
    """What stands in the composer. `refusal` is why the last try was not accepted; `edited` is the
    number of the question that is being changed, 0 for a new one; `draft` is where what is written is
    kept, "" for nowhere. `files` are attached and not sent yet, or those of the question that is changed;
    `frame_id` is the frame that it is about.
    """

    message: str = ""
    range: Range = NO_RANGE
    app: str = ""
    model: str = ""
    refusal: str = ""
    offers_ranges: bool = False
    edited: int = 0
    draft: str = ""
    style_note: str = ""
    files: tuple[Attachment, ...] = ()
    frame_id: int | None = None


def page(
    own: Services, chat: Chat | None, composer: Composer, viewer: Viewer, first: int | None = None
) -> dict[str, Any]:
    """What `chat/chat.html` draws: a chat, or a new one. All answers from the turn `first` on are drawn."""
    database = own.database
    turns: list[TurnView] = []
    asked = conversations.turns(database, chat.id) if chat else []
    begin = max(0, len(asked) - DRAWN_TURNS)
    if first is not None:
        begin = min(begin, bisect_left(asked, first, key=lambda turn: turn.n))
    for turn in asked[begin:]:
        events = own.turns.so_far(turn.chat_id, turn.n)
        turns.append(turn_view(own, stored_turn(database, turn.chat_id, turn.n), viewer.now_ms, events))
    if turns and not composer.model:
        composer = replace(composer, model=turns[-1].turn.model)  # who answered last answers next
    return dict(
        chat=chat,
        title=chat.title if chat else _("Ask"),
        action=f"/chat/{chat.id}" if chat else "/chat",
        older=asked[:begin],
        turns=turns,
        running=next((turn for turn in reversed(turns) if turn.is_followed), None),
        chats=chat_list(database, viewer),
        composer=composer,
        models=own.chat_models.describe(),
        suggestions=None if chat else suggestions(database, viewer),
        persona=personas.active(database),
        personas=personas.list_personas(database),
        topic=topic_of(own, chat.id) if chat else None,
        asks_for_pictures=_asks_for_pictures(own.chat_models),
        heartbeat_s=own.context.pace.heartbeat_s,
        is_verbose=chat_sessions.verbose_until_ms(database, viewer.now_ms) is not None,
    )


def _asks_for_pictures(models: ChatModels) -> bool:
    """Whether there is a model that sees, and is shown pictures only where the person says so."""
    setting = models.send_pictures
    seeing = [model for model in models.describe() if model.supports_vision]
    return setting != "never" and any(setting == "ask" or not model.is_local for model in seeing)


def around_frame(frame: FrameRow, viewer: Viewer) -> Composer:
    """A composer that asks about one frame: five minutes on each side of it."""
    at = formatting.clock_short(frame.captured_ms, viewer.zone)
    around = of_span(frame.captured_ms - AROUND_MS, frame.captured_ms + AROUND_MS, viewer)
    return Composer(_("What was I doing at %(time)s?", time=at), around, frame_id=frame.id)


def edit(turn: TurnResult, viewer: Viewer) -> Composer:
    """A composer that holds a question again, with its range and its model, to be changed."""
    chosen = NO_RANGE
    # One that was read from the words is read again.
    if not turn.scope.phrase and not turn.scope.is_everything:
        chosen = of_span(turn.start_ms, turn.end_ms, viewer)
    return Composer(turn.question, chosen, model=turn.model, edited=turn.turn_id, files=turn.attachments)
