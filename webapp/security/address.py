"""The address the pages are served on: this machine only, unless more was allowed by name."""

from __future__ import annotations

import ipaddress
import socket

from store.core.errors import SettingsError
from store.core.settings import WebSettings

_BACKLOG = 128


class PortInUse(OSError):
    """Something else listens on the address; the message is a sentence for a person."""


def check_address(settings: WebSettings) -> None:
    """Refuse to listen beyond this machine unless it was allowed twice by name (SEC-1).

    Raises `SettingsError` with what would have to be set.
    """
    if is_loopback(settings.host):
        return
    if not settings.allow_lan:
        raise SettingsError(
            f"web.host {settings.host!r} can be reached by other machines; "
            "set web.allow_lan=true to permit that"
        )
    if not settings.tls_acknowledged:
        raise SettingsError(
            "web.allow_lan needs TLS or a reverse proxy in front; confirm it with web.tls_acknowledged=true"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A bound, listening socket; port 0 picks a free one. Raises `PortInUse`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise PortInUse(f"cannot listen on {host}:{port}: {error.strerror}") from error
