"""Searching the web through one endpoint that a person chose, such as their own SearXNG.

``GET ENDPOINT?q=...&format=json`` answers ``{"results": [{"title", "url", "content"}]}``
(https://docs.searxng.org/dev/search_api.html). An endpoint with ``{query}`` in it is asked as it
stands, with the query put there, and has to answer in the same shape.

Only the endpoint's own host is ever connected to: no redirect is followed, no proxy of the environment
is used, and nothing that an answer names is fetched. A request is over after its time at the latest:
its socket is shut down then, wherever it is.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote_plus, urlsplit

from engines.cancellation import Cancellation
from engines.chat.network import host_of, is_local, problem_of, public_url
from engines.chat.protocol import OutgoingRequest, RequestHook

MAX_BYTES = 1_000_000
"""Of an answer; SearXNG's for one page is some 30 kB."""

PLACE = "{query}"
_TITLE_CHARS, _URL_CHARS, _TEXT_CHARS = 200, 500, 400
_CHUNK_BYTES = 65_536


class SearchFailed(Exception):
    """No results. `code` is for programs: timeout, unreachable, redirected, rate_limited, refused,
    too_large or malformed; the message is a sentence for people.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class WebHit:
    """One result, as the endpoint tells it: plain text of strangers, cut to size."""

    title: str
    url: str
    text: str


def problem_of_endpoint(url: str) -> str:
    """Why an endpoint cannot be used, as a sentence part; '' when it can."""
    base, _, query = url.partition("?")
    if not url.isascii() or "#" in url:
        return "must be plain ASCII without a #"
    problem = problem_of(base.replace(PLACE, ""))
    if problem:
        return problem
    if PLACE in urlsplit(base).netloc or "{" in url.replace(PLACE, ""):
        return f"may hold {PLACE} in its path or after the ?, and no other braces"
    return "must not hold blanks" if any(c.isspace() for c in query) else ""


class WebSearch:
    """One endpoint. Raises `ValueError` for an address that cannot be used. Thread-safe."""

    def __init__(self, endpoint: str) -> None:
        problem = problem_of_endpoint(endpoint)
        if problem:
            raise ValueError(f"the address {problem}")
        self.endpoint = endpoint
        self.host = host_of(endpoint)
        self.is_local = is_local(endpoint)
        self.is_encrypted = urlsplit(endpoint).scheme == "https"

    def request(self, query: str) -> bytes:
        """The very bytes that are sent for a query, which is all they tell."""
        asked = quote_plus(" ".join(query.split()), errors="replace")
        if PLACE in self.endpoint:
            parts = urlsplit(self.endpoint.replace(PLACE, asked))
            target = f"?{parts.query}" if parts.query else ""
        else:
            parts = urlsplit(self.endpoint)
            target = f"?{parts.query}&" if parts.query else "?"
            target += f"q={asked}&format=json"
        lines = [
            f"GET {parts.path or '/'}{target} HTTP/1.1",
            f"Host: {self.host}",
            "Accept: application/json",
            "Accept-Encoding: identity",
            "User-Agent: Recollect",
            "Connection: close",
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")

    def search(
        self, query: str, limit: int, *, timeout_s: float, on_send: RequestHook | None = None
    ) -> list[WebHit]:
        """Up to `limit` results, within `timeout_s`. Raises `SearchFailed`, and what `on_send` raises."""
        request = self.request(query)
        if on_send:
            on_send(OutgoingRequest(public_url(self.endpoint.partition("?")[0]), request))
        until_s, cutoff = time.monotonic() + timeout_s, Cancellation()
        try:
            with cutoff.at(lambda: until_s), _connected(self.endpoint, timeout_s, cutoff) as connection:
                connection.sendall(request)
                with HTTPResponse(connection, method="GET") as response:
                    response.begin()
                    _check(response)
                    content = _content(response)
                    if response.length:  # of what was announced, never came
                        raise ConnectionResetError
                if cutoff.is_over:  # a socket that is shut down reads like an end
                    raise TimeoutError
        except (OSError, HTTPException) as error:
            if cutoff.is_over or isinstance(error, TimeoutError):
                raise SearchFailed("timeout", f"{self.host} did not answer in time.") from error
            raise SearchFailed("unreachable", f"{self.host} cannot be reached or broke off.") from error
        return list(_hits(content))[:limit]


@contextmanager
def _connected(url: str, timeout_s: float, cutoff: Cancellation) -> Iterator[socket.socket]:
    """A connection to the address's host that `cutoff` can end."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    address = (parts.hostname or "", parts.port or (443 if secure else 80))
    connection = socket.create_connection(address, timeout=timeout_s)
    try:
        if secure:
            connection = ssl.create_default_context().wrap_socket(
                connection, server_hostname=address[0], do_handshake_on_connect=False
            )
        cutoff.hold(connection)
        if isinstance(connection, ssl.SSLSocket):
            connection.do_handshake()
        yield connection
    finally:
        connection.close()


def _check(response: HTTPResponse) -> None:
    """Raises `SearchFailed` for everything but 200."""
    status = response.status
    if status == 200:
        return
    if 300 <= status < 400:
        raise SearchFailed("redirected", "The endpoint redirects elsewhere, which is not followed.")
    if status == 429:
        wait = response.headers.get("Retry-After", "")
        when = f" for {wait} s" if wait.isdecimal() and len(wait) < 6 else ""
        raise SearchFailed("rate_limited", f"The endpoint wants no more searches{when}.")
    hint = " SearXNG needs `json` in its `search.formats`." if status == 403 else ""
    raise SearchFailed("refused", f"The endpoint answered with status {status}.{hint}")


def _content(response: HTTPResponse) -> bytes:
    content = b""
    while piece := response.read(_CHUNK_BYTES):
        content += piece
        if len(content) > MAX_BYTES:
            raise SearchFailed("too_large", f"The answer is larger than {MAX_BYTES:,} bytes.")
    return content


def _hits(content: bytes) -> Iterator[WebHit]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SearchFailed("malformed", "The answer is not JSON; is the address right?") from error
    results = document.get("results") if isinstance(document, dict) else None
    if not isinstance(results, list):
        raise SearchFailed("malformed", "The answer holds no list of results; is the address right?")
    seen = set()
    for result in results:
        url = result.get("url") if isinstance(result, dict) else None
        if not isinstance(url, str) or len(url) > _URL_CHARS or not _is_web(url) or url in seen:
            continue
        seen.add(url)
        yield WebHit(
            _plain(result.get("title"), _TITLE_CHARS), url, _plain(result.get("content"), _TEXT_CHARS)
        )


def _is_web(url: str) -> bool:
    return url.startswith(("http://", "https://")) and all(c.isprintable() and c != " " for c in url)


def _plain(text: Any, most: int) -> str:
    """One line without control characters, cut to `most`; '' for what is no text."""
    if not isinstance(text, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"
