"""Who may come in: the API token, launch links, and what each route asks for.

One secret is kept, the file ``token`` (0600). Everything else hangs on it by a key derived for its purpose,
so that a new token signs out all browsers and ends all other tokens and launch links at once. A launch link
carries an expiring code signed with such a key and opens the door once; the door gives the browser a cookie.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import hmac
import ipaddress
import os
import re
import secrets
import socket
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from store.core.errors import SettingsError
from store.core.paths import FILE_MODE, DataDir, only_holder, replace_file
from store.core.settings import WebSettings
from store.core.times import now_ms

_TOKEN_CHARS = 32
"""The least a token may have; our own have 43."""
_WAIT_S = 5.0
LAUNCH_LIFETIME_MS = 5 * 60 * 1000

EXTENSION_ORIGIN = "chrome-extension://pcobpapdmcnhkckagfhifhgcilfiidei"
"""The one extension that may speak. Its id follows from the key in its manifest.

https://developer.chrome.com/docs/extensions/reference/manifest/key
"""

_View = TypeVar("_View", bound=Callable[..., Any])


class Permission(enum.Enum):
    """What a route asks of its caller. A route that names nothing asks for sign-in."""

    PUBLIC = "public"
    SIGNED_IN = "signed in"
    INGEST = "signed in, or a token for handing in"
    HOST = "another machine's token for handing in"
    EXTENSION = "browser extension"


def public(view: _View) -> _View:
    """Lets a view answer without credentials."""
    return allow(view, Permission.PUBLIC)


def allow(view: _View, permission: Permission) -> _View:
    """Says what a view asks of its caller."""
    view.__dict__["permission"] = permission
    return view


def permission_of(view: Callable[..., Any] | None) -> Permission:
    """What a view asks for; an address without one asks for sign-in too."""
    permission = getattr(view, "permission", Permission.SIGNED_IN)
    assert isinstance(permission, Permission)
    return permission


def load_token(data_dir: DataDir) -> str:
    """The API token of a home folder, made at the first call.

    One that could be guessed, because somebody else wrote it, is replaced: that ends all sessions.
    """
    if not (token := _kept_token(data_dir)):
        # Programs that start at once would each make one, and believe in what another has replaced.
        problem = "the token of this home is being made elsewhere"
        with only_holder(data_dir.token.with_suffix(".lock"), _WAIT_S, problem):
            if not (token := _kept_token(data_dir)):
                token = secrets.token_urlsafe(32)
                replace_file(data_dir.token, token.encode() + b"\n")
    return token


def _kept_token(data_dir: DataDir) -> str:
    """ "" for none, and for one that could be guessed."""
    try:
        token = data_dir.token.read_text(encoding="ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    if os.name != "nt":
        data_dir.token.chmod(FILE_MODE)
    return token if len(token) >= _TOKEN_CHARS else ""


def derive_key(token: str, purpose: str) -> bytes:
    """A key for one purpose; knowing it tells nothing about the token or the other keys."""
    return hmac.digest(token.encode(), f"recollect {purpose}".encode(), "sha256")


def is_token(shown: str, token: str) -> bool:
    return hmac.compare_digest(shown.encode(), token.encode())


def extension_token(token: str) -> str:
    """The browser extension's: it may tell which windows are ordinary, and read nothing."""
    return base64.urlsafe_b64encode(derive_key(token, "browser extension")).decode("ascii").rstrip("=")


def make_launch_code(token: str, at_ms: int) -> str:
    """A code for one launch link, good for `LAUNCH_LIFETIME_MS`."""
    claim = f"{at_ms + LAUNCH_LIFETIME_MS}.{secrets.token_urlsafe(16)}"
    return f"{claim}.{_signature(token, claim)}"


def launch_link(data_dir: DataDir, url: str) -> str:
    """A link to the pages at `url` that signs a browser in, once, for a few minutes."""
    return f"{url}/launch?code={make_launch_code(load_token(data_dir), now_ms())}"


def check_launch_code(token: str, code: str, at_ms: int) -> tuple[str, int] | None:
    """(hash of the code, expiry) of a code that is ours and still good, else None.

    Whether it was used before is the store's to say: `store.egress.access_log.use_login_code`.
    """
    claim, _, signature = code.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(token, claim).encode()):
        return None
    expires_ms = int(claim.partition(".")[0])
    if expires_ms <= at_ms:
        return None
    return hashlib.sha256(code.encode()).hexdigest(), expires_ms


def _signature(token: str, claim: str) -> str:
    return hmac.new(derive_key(token, "launch"), claim.encode(), "sha256").hexdigest()


# -- the address the pages are served on: this machine only, unless more was allowed by name ----

_BACKLOG = 128
_PUBLIC_URL = re.compile(
    r"https://(?P<host>(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[1-9][0-9]{0,4})?)/?", re.ASCII
)


class PortInUse(OSError):
    """Something else listens on the address; the message is a sentence for a person."""


def check_address(settings: WebSettings) -> None:
    """Refuse to be reached from beyond this machine unless it was allowed twice by name.

    Raises `SettingsError` with what would have to be set.
    """
    url = urlsplit("https://" + public_host(settings))
    name = url.hostname
    if name in ("localhost", "127.0.0.1", "::1", settings.host) and (url.port or 443) == settings.port:
        raise SettingsError(
            f"web.public_url {settings.public_url!r} is the address of the pages themselves; "
            "let the proxy listen on another port"
        )
    if name and not is_loopback(name) and not settings.allow_lan:
        raise SettingsError(
            f"web.public_url {settings.public_url!r} can be reached by other machines; "
            "set web.allow_lan=true to permit that"
        )
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


def public_host(settings: WebSettings) -> str:
    """What browsers write as `Host` to the proxy of `web.public_url`; "" where there is none.

    Raises `SettingsError` for anything but https, a name and perhaps a port.
    """
    if not settings.public_url:
        return ""
    found = _PUBLIC_URL.fullmatch(settings.public_url.lower())
    try:
        _ = found and urlsplit(found[0]).port
    except ValueError:  # a port beyond 65535, or brackets around something else than an address
        found = None
    if found is None:
        raise SettingsError(
            f"web.public_url {settings.public_url!r} is no address such as https://recollect.example:8443"
        )
    return found["host"].removesuffix(":443")  # the port that browsers leave out


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
