"""Browsers: signed in by a launch link, known by a cookie, signed out; and the CSRF token of their forms.

Cookies do not look at ports, so browsers show ours to every server of this host. The name of the cookie says
the port, and it is good on the port it was made for only; what another server sets beside it is passed over.
On Linux it is good for connections of that user of the machine only whose browser was signed in: the server
of another user, which it was shown to, cannot use it.
"""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar, cast
from urllib.parse import urlsplit

from flask import Blueprint, current_app, g, redirect, request
from werkzeug.wrappers import Response

from store.core.translation import gettext as _
from store.egress import access_keys
from store.egress.access_keys import BROWSER, AccessKey
from store.egress.access_log import use_login_code
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.security import peers
from webapp.security.access import check_launch_code, derive_key, is_loopback, public
from webapp.security.keys import LIFETIME_MS, Keyring

_T = TypeVar("_T")

LOOK_AGAIN_S = 3.0
"""How often what stays open is asked whether its key is good yet."""
CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"
_MAX_COOKIES = 8
_BROWSERS = ("Firefox", "Edg", "OPR", "Vivaldi", "Chrome", "Safari")  # each also says the names behind it
_PLATFORM = re.compile(r"\(([^);]{1,40})(?:; ([^);]{1,40}))?")


def keyring() -> Keyring:
    """The keys of the app that answers the current request."""
    return cast(Keyring, current_app.extensions["keyring"])


def is_key_good() -> bool:
    """Whether the key that the current request came with is good yet: what stays open outlives it."""
    key: AccessKey | None = g.get("key")
    return key is not None and keyring().is_good(key)


def while_key_is_good(items: Iterable[_T]) -> Iterator[_T]:
    """What is told to somebody until they are signed out."""
    look_s = time.monotonic() + LOOK_AGAIN_S
    for item in items:
        if time.monotonic() >= look_s:
            if not is_key_good():
                return
            look_s = time.monotonic() + LOOK_AGAIN_S
        yield item


def browser_key() -> AccessKey | None:
    """The signed-in browser that asks, or None."""
    return _signed_in()[0]


def csrf_token() -> str:
    """What a form of this browser must carry; empty when it is not signed in."""
    secret = _signed_in()[1]
    key = derive_key(services().token, "csrf")
    return hmac.new(key, secret.encode(), "sha256").hexdigest() if secret else ""


def is_csrf_token(shown: str) -> bool:
    expected = csrf_token()
    return bool(expected) and hmac.compare_digest(shown.encode(), expected.encode())


def _signed_in() -> tuple[AccessKey | None, str]:
    """The browser and its secret, looked up once a request."""
    if "browser" not in g:
        shown = request.cookies.getlist(_cookie_name())[:_MAX_COOKIES]
        user = _user() if shown else ""
        found = ((keyring().browser(secret, _port(), user), secret) for secret in shown)
        g.browser = next((each for each in found if each[0]), (None, ""))
    return cast(tuple[AccessKey | None, str], g.browser)


def _cookie_name() -> str:
    """By TLS, with the beginning that no page of a sister domain, and none without TLS, can set.

    https://www.rfc-editor.org/rfc/rfc6265#section-4.1.3 does not know it; the browsers all do:
    https://developer.mozilla.org/en-US/docs/Web/HTTP/Headers/Set-Cookie#cookie_prefixes
    """
    return f"{'__Host-' if request.is_secure else ''}recollect_{_port()}"


def _user() -> str:
    """Whose program of this machine asks: the browser, or whoever has copied its cookie."""
    return peers.user_of(request.environ.get("werkzeug.socket"))


def _port() -> int:
    """The port that the browser sees: of the pages, or of a proxy before them."""
    web = services().settings.web
    return (urlsplit(web.public_url).port or 443) if request.is_secure else web.port


# -- a launch link signs a browser in, once -----------------------------------------------------

blueprint = Blueprint("launch", __name__)


@blueprint.get("/launch")
@public
def launch() -> Response:
    """Sign this browser in and go to the pages. A used or expired code gets 401 and no cookie."""
    if request.method == "HEAD":  # a preview of the link must not use it up
        return Response(status=204)
    own = services()
    now_ms = own.clock()
    code = check_launch_code(own.token, request.args.get("code", ""), now_ms)
    if code is None:
        raise _refused()
    before = browser_key()
    with own.database.write() as connection:
        if not use_login_code(connection, *code, now_ms):
            raise _refused()
        if before:
            access_keys.revoke(connection, before.id)
        secret = keyring().make(connection, BROWSER, _device(), _port(), _user())
    response = redirect("/", 303)
    response.set_cookie(
        _cookie_name(),
        secret,
        max_age=LIFETIME_MS // 1_000,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )
    return response


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End this browser's being signed in: here, and for whoever has a copy of its cookie."""
    key = browser_key()
    if key:
        with services().database.write() as connection:
            access_keys.revoke(connection, key.id)
    response = redirect("/", 303)
    response.delete_cookie(_cookie_name(), httponly=True, samesite="Strict", secure=request.is_secure)
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


def _refused() -> Problem:
    keyring().note_wrong(request.remote_addr or "")
    detail = _("This link has expired or was used before.")
    action = _("On the computer that runs Recollect, type `recollect open`.")
    return slow_down() or Problem(401, "launch_refused", f"{detail} {action}")


def slow_down() -> Problem | None:
    """In place of a 401, after too many wrong keys: when to come again."""
    wait_s = keyring().wait_s(request.remote_addr or "")
    if not wait_s:
        return None
    detail = _("Too many wrong tokens or links. Wait a minute, or type `recollect open` for a new link.")
    return Problem(429, "too_many_wrong_keys", detail, headers={"Retry-After": str(wait_s)})


def _device() -> str:
    """What a person knows a browser by: ``Firefox, X11, Linux x86_64``."""
    agent = request.user_agent.string
    platform = _PLATFORM.search(agent)
    address = request.remote_addr or ""
    parts = [next((name for name in _BROWSERS if f"{name}/" in agent), "A browser")]
    parts += filter(None, platform.groups()) if platform else ()
    return ", ".join(parts if is_loopback(address) else [*parts, address])
