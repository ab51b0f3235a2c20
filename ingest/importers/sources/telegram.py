"""Messages of Telegram Desktop's export as JSON: of one chat, or of all of them.

https://core.telegram.org/import-export has the fields. A chat's name and id stand before its messages.
Whose messages are one's own is said by ``personal_information`` in an export of everything; in one of a
single private chat they are those of whoever the chat is not with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.json_stream import json_records
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.telling import made
from ingest.importers.sources.values import BadRecord, name_of, parse_number, past_ms, text_of, written_ms
from store.sources.messages import MessageRecord

_EVERY = ("chats", "list", "[]")
_LEFT = ("left_chats", "list", "[]")
_CHATS = ((), _EVERY, _LEFT)
_ABOUT = ("name", "type", "id")
_OWN_ID = ("personal_information", "user_id")


def read_telegram(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    wanted = {
        _OWN_ID,
        *(each for each in _CHATS if each),
        *((*chat, name) for chat in _CHATS for name in _ABOUT),
        *((*chat, "messages", "[]") for chat in _CHATS),
    } - {_EVERY, _LEFT}
    own_id = ""
    chat: dict[str, str] = {}
    count = 0
    for path, value in json_records(source, wanted):
        if path == _OWN_ID:
            own_id = f"user{value}"
        elif path[-1] == "[]":
            count += 1
            yield made(f"record {count}", _record, value, chat, own_id, options)
        else:
            if path[-1] == "name":
                chat = {}  # the first of a chat
            chat[path[-1]] = "" if value is None else str(value)
    if not count:
        raise CannotImport("there are no messages in it; export a chat from Telegram Desktop as JSON")


def _record(raw: Any, chat: dict[str, str], own_id: str, options: Options) -> MessageRecord:
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
