"""The list of conversations, by day, and what of it a search leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from store.chats import conversations
from store.chats.conversations import Chat, find_chats
from store.core import times
from store.core.database import Database
from webapp.core import formatting
from webapp.core.viewer import Viewer

LISTED_CHATS = 60
MAX_FIND_CHARS = 200
_PLACE = re.compile(r"([0-9]{1,18})-([0-9]{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ChatList:
    """`groups` are chats by day, newest first; `find` is what is searched for; `older` is the address of
    the next page, "" on the last one.
    """

    groups: list[tuple[str, list[Chat]]]
    find: str = ""
    older: str = ""

    @property
    def count(self) -> int:
        return sum(len(chats) for _, chats in self.groups)


def chat_list(database: Database, viewer: Viewer, find: str = "", before: str = "") -> ChatList:
    """A page of the list. `before` is the place that `older` names; anything else is the beginning."""
    find = " ".join(find[:MAX_FIND_CHARS].split())
    match = _PLACE.fullmatch(before)
    place = (int(match[1]), int(match[2])) if match else None
    if find:
        chats = find_chats(database, find, LISTED_CHATS + 1, place)
    else:
        chats = conversations.list_chats(database, LISTED_CHATS + 1, place)
    older = ""
    if len(chats) > LISTED_CHATS:
        chats = chats[:LISTED_CHATS]
        last = f"{chats[-1].updated_ms}-{chats[-1].id}"
        older = "/chats?" + urlencode({**({"q": find} if find else {}), "before": last})
    return ChatList(_groups(chats, viewer), find, older)


def _groups(chats: list[Chat], viewer: Viewer) -> list[tuple[str, list[Chat]]]:
    today = viewer.today.date
    names = {today: "Today", today - timedelta(days=1): "Yesterday"}
    groups: list[tuple[str, list[Chat]]] = []
    for chat in chats:
        on = times.to_local(chat.updated_ms, viewer.zone).date()
        name = names.get(on) or formatting.date_long(on)
        if not groups or groups[-1][0] != name:
            groups.append((name, []))
        groups[-1][1].append(chat)
    return groups
