"""Addresses that stand on a screen: those in its text, and the one in a browser's address field.

OCR is not a keyboard: letters are mistaken and addresses are cut off with an ellipsis. So an
address is taken only when it is whole and plausible, and one that is not is left to the text
search. All functions here are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import AddressValueError, IPv4Address
from urllib.parse import urlsplit, urlunsplit

from engines.ocr.protocol import OcrLine, OcrWord
from store.privacy.defaults import is_browser

MAX_URLS = 100
MAX_LENGTH = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}

# The characters of RFC 3986. Chinese text and punctuation end an address without a blank.
_CHARACTERS = r"A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%"
_IN_TEXT = re.compile(rf"(?<![A-Za-z0-9_.@/-])(?:https?://|www\.)[{_CHARACTERS}]+", re.IGNORECASE)
_LOCAL = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+)(?=[:/]|$)", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_TOP_LEVEL = re.compile(r"[a-z]{2,24}|xn--[a-z0-9-]{2,59}")
_CLOSING = {")": "(", "]": "["}

# An address field shows hosts without a scheme, and file names look like hosts (main.rs, setup.py):
# without a scheme only endings are believed that few files have, and without a path fewer still.
_BELIEVED = re.compile(
    r"com|org|net|edu|gov|mil|int|info|biz|io|dev|app|ai|me|tv|cc|xyz|site|online|tech|wiki|blog|cloud"
    r"|shop|store|page|pro|eu|us|uk|de|fr|es|it|nl|be|at|ch|se|no|dk|fi|pl|cz|pt|gr|ie|ru|ua|tr|il|in"
    r"|id|jp|kr|cn|hk|tw|sg|my|th|vn|au|nz|ca|mx|br|ar|cl|co|za|ng|ke|eg|sa|ae|ir|pk|bd"
)
_ALSO_A_WORD_OR_FILE = re.compile(r"app|ai|at|be|cc|id|in|it|me|my|no|pl|pro|us")
# The part of the screen's height where an address field may be, and how sure its reading must be: no address
# is in a dictionary, so engines are less sure of one (0.65 to 0.84 of those in Chromium's field read right).
_FIELD_SHARE = 0.12
_FIELD_CONFIDENCE = 0.6


def urls_in_text(lines: Iterable[str]) -> list[str]:
    """Normalised addresses (http, https, ``www.``) in lines of text, each once, in order.

    One that the screen cut off with an ellipsis is left out: it leads somewhere else.
    """
    urls: dict[str, None] = {}
    for line in lines:
        for match in _IN_TEXT.finditer(line):
            candidate, tail = match[0], line[match.end() :]
            if tail.startswith("…") or candidate.endswith("..."):
                continue
            url = normalise(_trimmed(candidate))
            if url is not None:
                urls.setdefault(url)
    return list(urls)[:MAX_URLS]


def normalise(address: str) -> str | None:
    """One spelling for one address, or None when it is none.

    Scheme and host in lower case, ``https`` where the scheme is not shown (``http`` for this
    machine), no default port, no user name or password, no fragment, "/" for an empty path.
    """
    address = address.strip()
    if len(address) > MAX_LENGTH or re.search(r"\s", address):
        return None
    if "://" not in address:
        address = f"{'http' if _LOCAL.match(address) else 'https'}://{address}"
    try:
        parts = urlsplit(address)
        scheme, host, port = parts.scheme.lower(), (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    if scheme not in _DEFAULT_PORTS or not _is_host(host):
        return None
    place = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    return urlunsplit((scheme, place, parts.path or "/", parts.query, ""))


def address_bar_url(app_name: str | None, lines: Sequence[OcrLine], height_px: int) -> str | None:
    """The address in a browser's address field, or None unless there is exactly one plausible.

    Only the top of the picture is looked at, only words of some confidence count, and two different hosts
    there mean that nobody knows which one is the field's.
    """
    if not is_browser(app_name):
        return None
    candidates = [
        url
        for line in lines
        if line.box.y + line.box.h / 2 <= height_px * _FIELD_SHARE
        for word in line.words
        if word.confidence >= _FIELD_CONFIDENCE and (url := _in_field(word)) is not None
    ]
    hosts = {(urlsplit(url).hostname or "").removeprefix("www.") for url in candidates}
    return max(candidates, key=len) if len(hosts) == 1 else None


def _in_field(word: OcrWord) -> str | None:
    text = word.text.strip()
    if not re.fullmatch(rf"[{_CHARACTERS}]+", text) or text.endswith("...") or "@" in text:
        return None
    url = normalise(_trimmed(text))
    if url is None or "://" in text:
        return url
    parts = urlsplit(url)
    ending = (parts.hostname or "").rpartition(".")[2]
    if parts.port is not None:
        return url
    if parts.path == "/" and not text.endswith("/") and _ALSO_A_WORD_OR_FILE.fullmatch(ending):
        return None
    return url if _BELIEVED.fullmatch(ending) else None


def _trimmed(candidate: str) -> str:
    """Without the sentence's punctuation: a full stop, a comma, the bracket it stands in."""
    while candidate:
        last = candidate[-1]
        is_unopened = last in _CLOSING and candidate.count(last) > candidate.count(_CLOSING[last])
        if not is_unopened and last not in ".,;:!?'*":
            break
        candidate = candidate[:-1]
    return candidate


def _is_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        IPv4Address(host)
        return True
    except AddressValueError:
        labels = host.split(".")
    return (
        2 <= len(labels) <= 20
        and all(_LABEL.fullmatch(label) for label in labels)
        and _TOP_LEVEL.fullmatch(labels[-1]) is not None
    )
