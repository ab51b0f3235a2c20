"""The server that this machine captures for: its address, its token, one request after the other.

Redirects are not followed, for they would hand the token to whoever is pointed at. Without TLS only this
machine is spoken to, unless the person says otherwise.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from store.core.errors import SettingsError

_TIMEOUT_S = 30.0
_MAX_ANSWER = 8_000_000
_PREFIX = "/api/v1"


class Unreachable(Exception):
    """Nothing came of it now; a later try may. The server may say when."""

    def __init__(self, why: str, retry_after_s: float = 0.0) -> None:
        super().__init__(why)
        self.retry_after_s = retry_after_s


class NotLetIn(Exception):
    """The server does not let this machine in, as long as nobody does something about it."""


class Refused(Exception):
    """This very request will never be accepted."""


class Server:
    """`token` is asked before each request, so that a new one in its file is used at once."""

    def __init__(self, url: str, token: Callable[[], str], *, allow_http: bool = False) -> None:
        """Raises `SettingsError` for an address that cannot be used."""
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError as error:
            raise SettingsError(f"{url!r} is no address: {error}") from error
        if parts.scheme not in ("http", "https") or not self._host or parts.query or parts.username:
            raise SettingsError(f"{url!r} is no address such as https://recollect.example")
        if parts.scheme == "http" and not allow_http and not _is_loopback(self._host):
            raise SettingsError(
                f"{url!r} would carry the token and the pictures for all to read; use https (docs/doors.md), "
                "or --allow-http where the network itself is encrypted"
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self._path = parts.path.rstrip("/") + _PREFIX
        self._connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._token = token
        self._boundary = uuid.uuid4().hex  # one for all forms: whoever reads them compiles expressions for it
        self._connection: http.client.HTTPConnection | None = None

    def send(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a JSON document. Raises `Unreachable`, `NotLetIn` or `Refused`."""
        return self._post(path, json.dumps(document).encode(), "application/json")

    def send_parts(self, path: str, parts: Mapping[str, bytes]) -> dict[str, Any]:
        """The answer to a form of files."""
        boundary = self._boundary
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
        body = b"".join((head % (name, name)).encode() + content + b"\r\n" for name, content in parts.items())
        return self._post(
            path, body + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _post(self, path: str, body: bytes, content_type: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": content_type}
        was_open = self._connection is not None
        try:
            try:
                response, content = self._exchange(path, body, headers)
            except (OSError, http.client.HTTPException):
                if not was_open:
                    raise
                # It was closed while nothing was said. What may have arrived is known there by its id.
                response, content = self._exchange(path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.url} cannot be reached: {error or type(error).__name__}") from error
        return _read(response, content)

    def _exchange(
        self, path: str, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            if self._connection is None:
                self._connection = self._connect(self._host, self._port, timeout=_TIMEOUT_S)
            self._connection.request("POST", self._path + path, body, headers)
            response = self._connection.getresponse()
            return response, response.read(_MAX_ANSWER)
        except BaseException:
            self.close()
            raise


def _read(response: http.client.HTTPResponse, content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):  # of a proxy, perhaps
        document = {}
    status, why = response.status, str(document.get("detail") or response.reason)[:300]
    if status in (200, 202) and document:
        return document
    if status in (413, 415, 422) and document:
        raise Refused(f"{why} ({document.get('code')})")
    if status == 429 or status >= 500 or status == 408:
        raise Unreachable(f"the server answers {status}: {why}", _seconds(response.headers["Retry-After"]))
    if (code := document.get("code")) in ("unauthorized", "token_not_enough", "host_taken"):
        why = f"no token for this machine ({code}); there, `recollect token add NAME --for ingest` makes one"
    raise NotLetIn(f"the server answers {status}: {why}")


def _seconds(retry_after: str | None) -> float:
    """How long is asked for; a date, which our servers never give, is none."""
    with suppress(ValueError):
        return min(600.0, max(0.0, float(retry_after or "")))
    return 0.0


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
