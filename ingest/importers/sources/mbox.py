"""E-mail of an mbox file (RFC 4155), as Thunderbird, Apple Mail and Google Takeout write it.

The words are kept and the attachments are not. A message begins with a line ``From …`` after a blank one;
``>From `` in a body loses its mark again.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.message
import email.parser
import email.utils
import re
from collections.abc import Iterator
from datetime import UTC

from ingest.documents.extraction import markup_text
from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.source_file import (
    BadRecord,
    Options,
    Source,
    local_ms,
    name_of,
    past_ms,
    record_or_skipped,
    text_of,
)
from store.sources.messages import MessageRecord

_MAX_MESSAGE_BYTES = 1_000_000
"""What is read of one message: its words stand before its attachments."""
_QUOTED_FROM = re.compile(rb">+From ")
_SENT_LABELS = {"sent", "gesendet", "enviados", "messages envoyés", "posta inviata"}


def read(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    for count, raw in enumerate(_messages(source), 1):
        yield record_or_skipped(f"record {count}", _record, raw, options)


def _messages(source: Source) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    is_after_blank, is_in_message = True, False
    for line in source.byte_lines():
        if is_after_blank and line.startswith(b"From "):
            if is_in_message:
                yield b"".join(lines)
            lines, size, is_in_message = [line], 0, True
        elif not is_in_message:
            raise CannotImport("this is no mbox file: it does not begin with a line 'From …'")
        elif size < _MAX_MESSAGE_BYTES:
            lines.append(line[1:] if line.startswith(b">") and _QUOTED_FROM.match(line) else line)
            size += len(line)
        is_after_blank = line in (b"\n", b"\r\n")
    if is_in_message:
        yield b"".join(lines)


def _record(raw: bytes, options: Options) -> MessageRecord:
    message = _parsed(raw)
    body = _body(message)
    subject = name_of(_header(message, "Subject"))
    if not body and not subject:
        raise BadRecord("it has no text")
    senders = email.utils.getaddresses([_header(message, "From")])
    sender = senders[0] if senders else ("", "")
    is_outgoing = _is_outgoing(sender[1], message, options)
    if is_outgoing:
        receivers = email.utils.getaddresses([_header(message, "To") or _header(message, "Cc")])
        sender = receivers[0] if receivers else ("", "")
    name, address = sender
    return MessageRecord(
        service="email",
        sent_ms=past_ms(_sent(message), options),
        is_outgoing=is_outgoing,
        body=text_of(body),
        address=name_of(address),
        name=name_of(name),
        subject=subject,
        external_id=name_of(_header(message, "Message-ID")),
    )


def _parsed(raw: bytes) -> email.message.Message:
    try:
        return email.message_from_bytes(raw)
    except RecursionError:  # parts in parts in parts: who wrote when about what can still be told
        return email.parser.BytesHeaderParser().parsebytes(raw)


def _is_outgoing(sender: str, message: email.message.Message, options: Options) -> bool:
    if options.me:
        return sender.casefold() in options.me
    labels = _header(message, "X-Gmail-Labels")
    if labels:
        return any(label.strip().casefold() in _SENT_LABELS for label in labels.split(","))
    raise CannotImport("this file does not say who you are; say your e-mail address with --me")


def _sent(message: email.message.Message) -> float:
    """By its own date, else by the line before it: sender, and the time in UTC (RFC 4155)."""
    of_envelope = (message.get_unixfrom() or "").split(maxsplit=2)[2:]
    for date in (_header(message, "Date"), *of_envelope):
        try:
            at = email.utils.parsedate_to_datetime(date)
        except (ValueError, IndexError, TypeError, OverflowError):
            continue
        return local_ms(at, UTC)  # -0000 says that the zone is not known, and that this is UTC
    raise BadRecord("it has no date that can be read")


def _header(message: email.message.Message, name: str) -> str:
    """A header as text, "" where there is none; one that is wrongly encoded as far as it can be read."""
    value = message.get(name)
    if value is None:
        return ""
    text = str(value)
    if "=?" not in text and text.isascii():
        return text
    try:
        return str(email.header.make_header(email.header.decode_header(text)))
    except (LookupError, ValueError, email.errors.MessageError):
        return text.encode("ascii", "replace").decode()


def _body(message: email.message.Message) -> str:
    """The plain text, else the words of the HTML."""
    bodies: dict[str, str] = {}
    for part in message.walk():
        kind = part.get_content_type()
        if kind in ("text/plain", "text/html") and kind not in bodies and not part.get_filename():
            bodies[kind] = _words(part)
            if bodies.get("text/plain", "").strip():
                break
    plain = bodies.get("text/plain", "").strip()
    return plain or markup_text(bodies.get("text/html", ""))


def _words(part: email.message.Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    try:
        text = content.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # a charset that nobody knows
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\0", "")
