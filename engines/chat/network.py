"""Addresses of endpoints: which are on this machine, what of them may be shown, which may be used."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit


def public_url(base_url: str) -> str:
    """The address without a user, a password or a query, any of which may be a secret."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{_host_and_port(parts)}{parts.path}"


def is_local(base_url: str) -> bool:
    """Whether an address is on this machine, so that nothing leaves it."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"  # a name below it is looked up like any other by some resolvers


def host_of(base_url: str) -> str:
    """``api.example`` or ``192.168.1.5:8000``: whom a person allows text to be sent to."""
    return _host_and_port(urlsplit(base_url))


def may_send_to(base_url: str, allowed_host: str) -> bool:
    """Whether text may go to an address: it is on this machine, or its very host was allowed."""
    return is_local(base_url) or allowed_host == host_of(base_url)


def problem_of(base_url: str) -> str:
    """Why an address cannot be used, as a sentence part; '' when it can.

    Only http and https; no user, password, query or fragment, in which keys travel unseen.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        return "is not a valid address"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not parts.hostname or port == 0 or any(c.isspace() or not c.isprintable() for c in base_url):
        return "is not a valid address"
    if "@" in parts.netloc:
        return "must not hold a user or a password; the key has a field of its own"
    if parts.query or parts.fragment:
        return "must not hold a ? or a #"
    return ""


def _host_and_port(parts: SplitResult) -> str:
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"
