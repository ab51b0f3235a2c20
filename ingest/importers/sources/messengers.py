"""Messages of WhatsApp and Telegram, as their own exports have them.

In WhatsApp's "Export chat" of Android and iOS a message begins with a time:

    21/11/2026, 14:03 - Anna: Words            [21.11.26, 14:03:07] Anna: Words

The order of day and month is that of the phone and is found over the whole file: by a number over 12, else
by which reading keeps the messages in order. A file that leaves it open is refused, not guessed. So is one
that does not tell who of two its owner is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import PurePath
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import json_records
from ingest.importers.sources.source_file import (
    BadRecord,
    Dates,
    DuplicateCounter,
    Options,
    Source,
    hour_of_day,
    line_records,
    local_ms,
    name_of,
    parse_number,
    past_ms,
    record_or_skipped,
    text_of,
    written_ms,
)
from store.sources.messages import MessageRecord

_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\ufeff"))
WHATSAPP_LINE = re.compile(
    r"""\[?(\d{1,4})([./-])\s?(\d{1,2})\2\s?(\d{1,4})\.?,?\s
        (\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:\s?([AaPp])\.?\s?[Mm]\.?)?
        (?:\]\s|\s-\s)(.*)""",
    re.VERBOSE | re.DOTALL,
)
_SENDER = re.compile(r"([^:\n]{1,100}?): ?(.*)", re.DOTALL)
_TITLE = re.compile(r"WhatsApp[ _]Chat(?: (?:with|mit|con|avec|com|met|z|-) | - )(.+)", re.IGNORECASE)
_MAX_SENDERS = 2_000
_ORDERS: tuple[Dates, ...] = ("dmy", "mdy", "ymd")


@dataclass(slots=True)
class _Chat:
    """What was found out about the whole file."""

    dates: Dates
    others: frozenset[str]
    me: frozenset[str]
    title: str

    @property
    def is_group(self) -> bool:
        return len(self.others) > 1


def read_whatsapp(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    chat = _look_through(source, options)
    source.rewind()
    make = partial(_record, chat=chat, occurrences=DuplicateCounter(), options=options)
    yield from line_records(_lines(source), make, stray="it stands before the first message")


def _lines(source: Source) -> Iterator[tuple[re.Match[str] | None, str]]:
    for line in source.lines():
        plain = line.translate(_MARKS) if not line.isascii() else line
        yield WHATSAPP_LINE.match(plain), plain


def _record(
    start: re.Match[str], more: list[str], chat: _Chat, occurrences: DuplicateCounter, options: Options
) -> MessageRecord:
    signed = _SENDER.match(start[9])
    if signed is None:
        raise BadRecord("it is a notice, not a message")
    sender = name_of(signed[1])
    body = "".join([signed[2], *more]).strip()
    if not body:
        raise BadRecord("it has no text")
    sent_ms = past_ms(local_ms(_moment(start, chat.dates), options.zone), options)
    is_outgoing = sender.casefold() in chat.me
    other = sender
    if is_outgoing:  # to a group, or to the one other
        other = "" if chat.is_group else next(iter(chat.others), chat.title)
    return MessageRecord(
        service="whatsapp",
        sent_ms=sent_ms,
        is_outgoing=is_outgoing,
        body=text_of(body),
        name=other,
        conversation=chat.title if chat.is_group else "",
        occurrence=occurrences.of(sent_ms, sender, body),
    )


def _look_through(source: Source, options: Options) -> _Chat:
    senders: dict[str, None] = {}
    possible = {options.dates} if options.dates else set(_ORDERS)
    backwards = dict.fromkeys(_ORDERS, 0)
    last: dict[Dates, datetime] = {}
    count = 0
    for start, _ in _lines(source):
        if not start:
            continue
        count += 1
        if signed := _SENDER.match(start[9]):
            senders[name_of(signed[1])] = None
            if len(senders) > _MAX_SENDERS:
                raise CannotImport(f"more than {_MAX_SENDERS:,} people write in it; this is no such chat")
        for order in tuple(possible):
            try:
                at = _moment(start, order)
            except BadRecord:
                if len(possible) > 1:
                    possible.discard(order)
                continue
            backwards[order] += order in last and at < last[order]
            last[order] = at
    if not count:
        raise CannotImport("there is no message in it; in WhatsApp choose Export chat")
    title = _title(source.name)
    me, others = _people(list(senders), title, options)
    return _Chat(_order(possible, backwards), others, me, title)


def _order(possible: set[Dates], backwards: dict[Dates, int]) -> Dates:
    fewest = min(backwards[order] for order in possible)
    best = [order for order in possible if backwards[order] == fewest]
    if len(best) > 1:
        raise CannotImport("day and month cannot be told apart; say their order with --dates dmy or mdy")
    return best[0]


def _people(senders: list[str], title: str, options: Options) -> tuple[frozenset[str], frozenset[str]]:
    """(me, the others). Who is who: `--me`, or a chat of two that is called by the other one."""
    own = [name for name in senders if name.casefold() in options.me]
    others = [name for name in senders if name not in own]
    if not own and len(senders) == 2 and title in senders:
        own, others = [name for name in senders if name != title], [title]
    elif not own and senders != [title]:
        shown = ", ".join(name[:40] for name in senders[:10])
        raise CannotImport(f"say who of these you are with --me: {shown}")
    return frozenset(name.casefold() for name in own), frozenset(others)


def _title(name: str) -> str:
    stem = name_of(PurePath(name).stem)
    titled = _TITLE.fullmatch(stem)
    return titled[1] if titled else stem


def _moment(start: re.Match[str], order: Dates) -> datetime:
    first, second, third = int(start[1]), int(start[3]), int(start[4])
    if len(start[1]) == 4:
        order = "ymd"
    elif order == "ymd":
        raise BadRecord("its date cannot be read")
    orders = {"dmy": (first, second, third), "mdy": (second, first, third), "ymd": (third, second, first)}
    day, month, year = orders[order]
    hour = hour_of_day(int(start[5]), start[8] or "")
    year += 2000 if year < 100 else 0
    try:
        return datetime(year, month, day, hour, int(start[6]), int(start[7] or 0))
    except ValueError as error:
        raise BadRecord("its time cannot be read") from error


# Messages of Telegram Desktop's export as JSON: of one chat, or of all of them.
#
# https://core.telegram.org/import-export has the fields. A chat's name and id stand before its messages.
# Whose messages are one's own is said by ``personal_information`` in an export of everything; in one of a
# single private chat they are those of whoever the chat is not with.

_CHATS: tuple[tuple[str, ...], ...] = ((), ("chats", "list", "[]"), ("left_chats", "list", "[]"))
_ABOUT = ("name", "type", "id")
_OWN_ID = ("personal_information", "user_id")


def read_telegram(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    paths = {
        _OWN_ID,
        *((*chat, name) for chat in _CHATS for name in _ABOUT),
        *((*chat, "messages", "[]") for chat in _CHATS),
    }
    own_id = ""
    chat: dict[str, str] = {}
    count = 0
    for path, value in json_records(source, paths):
        if path == _OWN_ID:
            own_id = f"user{value}"
        elif path[-1] == "[]":
            count += 1
            yield record_or_skipped(f"record {count}", _telegram_record, value, chat, own_id, options)
        else:
            if path[-1] == "name":
                chat = {}  # the first of a chat
            chat[path[-1]] = "" if value is None else str(value)
    if not count:
        raise CannotImport("there are no messages in it; export a chat from Telegram Desktop as JSON")


def _telegram_record(raw: Any, chat: dict[str, str], own_id: str, options: Options) -> MessageRecord:
    if not isinstance(raw, dict) or raw.get("type") != "message":
        raise BadRecord("it is a notice, not a message")
    body = _text(raw.get("text"))
    if not body.strip():
        raise BadRecord("it has no text (a picture or a sound)")
    sender, name = str(raw.get("from_id") or ""), name_of(raw.get("from"))
    is_private = chat.get("type") in ("personal_chat", "bot_chat")
    is_outgoing = _is_outgoing(sender, name, chat, own_id, options)
    if is_private:
        address, shown = f"user{chat.get('id', '')}", name_of(chat.get("name"))
    else:
        address, shown = ("", "") if is_outgoing else (sender, name)
    return MessageRecord(
        service="telegram",
        sent_ms=past_ms(_sent(raw, options), options),
        is_outgoing=is_outgoing,
        body=text_of(body),
        address=name_of(address),
        name=shown,
        conversation="" if is_private else name_of(chat.get("name")) or chat.get("type", ""),
        external_id=f"{chat.get('id', '')}/{raw.get('id')}",
    )


def _sent(raw: dict[str, Any], options: Options) -> float:
    """``date_unixtime`` says it without a zone; older exports have the local ``date`` alone."""
    if "date_unixtime" in raw:
        return parse_number(raw["date_unixtime"], "its date") * 1000
    return written_ms(text_of(raw.get("date")), options.zone)


def _is_outgoing(sender: str, name: str, chat: dict[str, str], own_id: str, options: Options) -> bool:
    if chat.get("type") == "saved_messages":
        return True
    if options.me:
        return sender.casefold() in options.me or name.casefold() in options.me
    if own_id:
        return sender == own_id
    if chat.get("type") in ("personal_chat", "bot_chat"):
        return sender != f"user{chat.get('id', '')}"
    raise CannotImport("this export does not say who you are; say your name in it with --me")


def _text(value: Any) -> str:
    """A text is a string, or a list of strings and of objects that have one."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
