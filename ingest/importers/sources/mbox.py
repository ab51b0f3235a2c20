"""E-mail of an mbox file (RFC 4155), as Thunderbird, Apple Mail and Google Takeout write it.

The words are kept and the attachments are not. A message begins with a line ``From …`` after a blank one;
``>From `` in a body loses its mark again.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import email.message
import email.utils
import re
from collections.abc import Iterator
from datetime import UTC
from functools import lru_cache
from html.parser import HTMLParser

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
_LONGEST_HEAD = 64 * 1024
_AS_IT_IS = frozenset({"", "7bit", "8bit", "binary"})
_MAX_DEPTH = 16
"""Parts in parts; what is nested deeper is not read."""
# A field with the lines it goes on in (RFC 5322, 2.2.3).
_FIELD = re.compile(r"^([!-9;-~]+)[ \t]*:[ \t]*(.*(?:\n[ \t].*)*)", re.MULTILINE)
_ADDRESS = re.compile(r'"?([^"<>@,()=]*?)"?\s*<?([^\s"<>@,()]+@[^\s"<>@,()]+)>?')
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
            lines, size, is_in_message = [], 0, True
        elif not is_in_message:
            raise CannotImport("this is no mbox file: it does not begin with a line 'From …'")
        elif size < _MAX_MESSAGE_BYTES:
            lines.append(line[1:] if line.startswith(b">") and _QUOTED_FROM.match(line) else line)
            size += len(line)
        is_after_blank = line in (b"\n", b"\r\n")
    if is_in_message:
        yield b"".join(lines)


def _record(raw: bytes, options: Options) -> MessageRecord:
    message, content = _parsed(raw)
    body = _body(message, content)
    subject = name_of(_header(message, "Subject"))
    if not body and not subject:
        raise BadRecord("it has no text")
    senders = _addresses(_header(message, "From"))
    sender = senders[0] if senders else ("", "")
    is_outgoing = _is_outgoing(sender[1], message, options)
    if is_outgoing:
        receivers = _addresses(_header(message, "To")) or _addresses(_header(message, "Cc"))
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


def _parsed(raw: bytes) -> tuple[email.message.Message, bytes]:
    """The headers and what follows them, which is not looked at yet."""
    newline = b"\r\n" if b"\r\n" in raw[:_LONGEST_HEAD] else b"\n"
    if raw.startswith(newline):  # no header at all
        return email.message.Message(), raw[len(newline) :]
    head, _, body = raw.partition(newline * 2)
    message = email.message.Message()
    # The parser of `email` takes five times as long for the same fields.
    for name, value in _FIELD.findall(head.decode("ascii", "surrogateescape")):
        message.set_raw(name, value.rstrip("\r"))
    return message, body


def _addresses(text: str) -> list[tuple[str, str]]:
    """(name, address) of each; most headers have one, in its plainest form."""
    plain = _ADDRESS.fullmatch(text)
    return [(plain[1].strip(), plain[2])] if plain else email.utils.getaddresses([text])


def _is_outgoing(sender: str, message: email.message.Message, options: Options) -> bool:
    if options.me:
        return sender.casefold() in options.me
    labels = _header(message, "X-Gmail-Labels")
    if labels:
        return any(label.strip().casefold() in _SENT_LABELS for label in labels.split(","))
    raise CannotImport("this file does not say who you are; say your e-mail address with --me")


def _sent(message: email.message.Message) -> float:
    try:
        at = email.utils.parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise BadRecord("it has no date that can be read") from error
    return local_ms(at, UTC)  # -0000 says that the zone is not known, and that this is UTC


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


def _body(message: email.message.Message, body: bytes) -> str:
    """The plain text, else the words of the HTML."""
    bodies: dict[str, str] = {}
    for part, kind, content in _leaves(message, body, _MAX_DEPTH):
        if kind in ("text/plain", "text/html") and kind not in bodies and not part.get_filename():
            bodies[kind] = _words(part, content)
            if bodies.get("text/plain", "").strip():
                break
    plain = bodies.get("text/plain", "").strip()
    return plain or _without_markup(bodies.get("text/html", "")).strip()


def _leaves(
    message: email.message.Message, body: bytes, depth: int
) -> Iterator[tuple[email.message.Message, str, bytes]]:
    """(part, its type, what stands in it) of a message (RFC 2046), as they are asked for.

    Cut out by their boundary alone: `email` looks at every line of every attachment, which takes most of
    the time of an import.
    """
    kind, _ = _described(str(message.get("Content-Type", "")))
    boundary = message.get_boundary("") if kind.startswith("multipart/") else ""
    if not boundary or depth == 0:
        yield message, kind, body
        return
    for part in _cut(body, b"--" + boundary.encode("ascii", "surrogateescape")):
        yield from _leaves(*_parsed(part), depth - 1)


def _cut(body: bytes, delimiter: bytes) -> Iterator[bytes]:
    """What stands between lines that are the delimiter; the last one may be missing."""
    start = -1
    at = body.find(delimiter)
    while at >= 0:
        after = at + len(delimiter)
        end = body.find(b"\n", after)
        rest = body[after : end if end >= 0 else len(body)].rstrip()
        if (at == 0 or body[at - 1] == 10) and rest in (b"", b"--"):
            if start >= 0:
                part = body[start:at]  # the line break before a delimiter belongs to the delimiter
                yield part[:-2] if part.endswith(b"\r\n") else part.removesuffix(b"\n")
            if rest or end < 0:
                return
            start = end + 1
        at = body.find(delimiter, after)
    if start >= 0:
        yield body[start:]


@lru_cache(maxsize=1_024)
def _described(content_type: str) -> tuple[str, str]:
    """(type, charset) of what a Content-Type says; most mail says one of a few."""
    message = email.message.Message()
    message.set_raw("Content-Type", content_type)
    return message.get_content_type(), message.get_content_charset("utf-8")


def _words(part: email.message.Message, body: bytes) -> str:
    content: object = body
    if str(part.get("Content-Transfer-Encoding", "")).strip().lower() not in _AS_IT_IS:
        part.set_payload(body.decode("ascii", "surrogateescape"))
        content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    _, charset = _described(str(part.get("Content-Type", "")))
    try:
        text = content.decode(charset, "replace")
    except LookupError:  # a charset that nobody knows
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\0", "")


class _Words(HTMLParser):
    """Collects what a reader would see."""

    _SILENT = frozenset({"style", "script", "head", "title"})
    _BREAKS = frozenset({"p", "br", "div", "tr", "li", "h1", "h2", "h3", "blockquote"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._silent += tag in self._SILENT
        if tag in self._BREAKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in self._SILENT))

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data)


def _without_markup(markup: str) -> str:
    words = _Words()
    words.feed(markup)
    words.close()
    lines = (" ".join(line.split()) for line in "".join(words.parts).splitlines())
    return "\n".join(line for line in lines if line)
