"""Addresses that stand in the text of a screen.

OCR is not a keyboard: letters are mistaken and addresses are cut off with an ellipsis. So an
address is taken only when it is whole and plausible, and one that is not is left to the text
search. All functions here are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address
from urllib.parse import urlsplit, urlunsplit

MAX_URLS = 100
MAX_LENGTH = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}

# The characters of RFC 3986. Chinese text and punctuation end an address without a blank.
CHARACTERS = r"A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%"
_IN_TEXT = re.compile(rf"(?<![A-Za-z0-9_.@/-])(?:https?://|www\.)[{CHARACTERS}]+", re.IGNORECASE)
_LOCAL = re.compile(r"(?:localhost|127\.\d+\.\d+\.\d+)(?=[:/]|$)", re.IGNORECASE)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?")
_TOP_LEVEL = re.compile(r"[a-z]{2,24}|xn--[a-z0-9-]{2,59}")
_CLOSING = {")": "(", "]": "["}


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
            url = normalise(trimmed(candidate))
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


def trimmed(candidate: str) -> str:
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
