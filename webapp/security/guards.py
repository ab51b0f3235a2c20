"""The door of the web process: every request passes here before it reaches a view.

In this order: a Host that is ours (else any name could be pointed at this machine), not sent by another
site, signed in unless the route is public, and for changes made with a cookie the CSRF token. A token for one
purpose opens what is for that purpose, and each of its requests leaves a row. The one route of the browser
extension has a key of its own instead, and answers nobody else. Sockets begin as requests and pass the same
way. On the way out every answer gets the headers that keep it private.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from typing import Any

from flask import Flask, Response, current_app, g, render_template, request

from store.core.errors import StoreError
from store.core.settings import WebSettings
from store.core.translation import gettext as _
from store.egress import access_log
from store.egress.access_keys import BROWSER, AccessKey
from store.egress.access_log import Access, Outcome
from webapp.core.errors import Problem, is_api, of_system, problem_of, problem_response, request_id
from webapp.core.services import Services, services, wants_fragment
from webapp.core.uploads import FORM_TYPES
from webapp.security import access, login
from webapp.security.access import Permission, public_host
from webapp.security.keys import OWNER, Keyring

log = logging.getLogger(__name__)

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; manifest-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)


def install(app: Flask) -> None:
    """Put the guards before every view and the headers on every answer."""
    own: Services = app.extensions["recollect"]
    app.extensions["keyring"] = Keyring(own.database, own.token, own.clock)
    app.wsgi_app = _behind_proxy(app.wsgi_app, public_host(own.settings.web))  # type: ignore[assignment, method-assign]
    app.before_request(_guard)
    app.after_request(protect)
    app.after_request(_record)  # it comes before: the last one is the first
    app.jinja_env.globals["csrf_token"] = login.csrf_token


def _guard() -> Response | None:
    """None lets the request through; an answer or a `Problem` does not."""
    if not is_own_host(services().settings.web):
        raise Problem(403, "wrong_host", "This server does not answer to that Host.")
    if _permission() is Permission.EXTENSION:
        _check_extension()
        return None
    if is_cross_site():
        if _is_page_navigation():
            return _crossing()
        # %r: what stands in a path from outside begins no line of its own.
        log.warning("refused %s %r: another site asked", request.method, request.path[:200])
        raise Problem(403, "cross_site", _("Requests from other sites are refused."))
    _check_access()
    return None


def is_own_host(web: WebSettings) -> bool:
    """Whether the request is to an address of the pages: their own, or that of the proxy before them."""
    host = request.environ.get("HTTP_HOST", "")
    return is_allowed_host(host, _host_names(web.host), web.port) or _is_public(host, public_host(web))


def _is_public(host: str, public: str) -> bool:
    return public != "" and host.lower() == public


def _behind_proxy(inner: _Wsgi, public: str) -> _Wsgi:
    """Let requests that a proxy passes on be told by the `Host` that their browser wrote: they came by TLS.

    What a proxy says of itself (`X-Forwarded-…`) is not looked at: anybody could say it.
    """

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if _is_public(environ.get("HTTP_HOST", ""), public):
            environ["wsgi.url_scheme"] = "https"
        return inner(environ, start_response)

    return answer


def is_allowed_host(host: str, names: frozenset[str], port: int) -> bool:
    """Whether a Host header names this server: one allowed name, and our port."""
    match = _HOST.fullmatch(host.lower())
    if match is None:
        return False
    return match["name"] in names and int(match["port"] or 80) == port


def _host_names(host: str) -> frozenset[str]:
    if host in ("", "0.0.0.0", "::"):
        # Listening everywhere: the address this connection came in by. Rebinding needs a name.
        connection = request.environ.get("werkzeug.socket")
        host = connection.getsockname()[0] if connection else "127.0.0.1"
    return LOOPBACK_NAMES | {f"[{host}]" if ":" in host else host.lower()}


def is_cross_site() -> bool:
    """Whether a browser says that another site made this request.

    `Sec-Fetch-Site` cannot be forged by a page. Our pages send no referrer, and then a form's
    `Origin` is ``null`` (https://fetch.spec.whatwg.org/#append-a-request-origin-header): that is
    accepted only with the browser's own word that the request is same-origin.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None and site not in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    if origin is None or (origin == "null" and site == "same-origin"):
        return False
    return origin.lower() != f"{request.scheme}://{request.environ.get('HTTP_HOST', '')}".lower()


def _is_page_navigation() -> bool:
    headers = request.headers
    return (
        request.method == "GET"
        and not is_api()
        and not wants_fragment()
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )


_FRAME_PATH = re.compile(r"/frames/([1-9][0-9]{0,15})", re.ASCII)


def _crossing() -> Response:
    """A page without data and one same-site link: following it sends the cookie."""
    frame = _FRAME_PATH.fullmatch(request.path)
    name = _("frame %(id)s", id=frame[1]) if frame else _("this page")
    # A path that begins with two slashes would lead to another host.
    target = "/" + request.full_path.rstrip("?").lstrip("/\\")
    html = render_template("crossing.html", name=name, target=target)
    return Response(html, 403, content_type="text/html; charset=utf-8")


def _check_access() -> None:
    g.signed_in = False
    key = _bearer() if "Authorization" in request.headers else login.browser_key()
    g.key = key
    if key is None:
        if _permission() is not Permission.PUBLIC:
            raise _unauthorized()
        return
    if not _opens(key.scope):
        raise Problem(403, "token_not_enough", "This token may not do that. Make one for it under Privacy.")
    g.signed_in = key.scope in (OWNER.scope, BROWSER, "read")
    if request.method in _SAFE_METHODS:
        return
    if key.scope == BROWSER and not login.is_csrf_token(_shown_csrf()):
        raise Problem(
            403, "csrf_token_required", _("The form is out of date; reload the page and try again.")
        )
    _wait_for_body()
    if not login.is_key_good():  # revoked on its way
        raise _unauthorized()


def _wait_for_body() -> None:
    """Have all of the body, which may take minutes: what it asks for is done with a key that is good then."""
    if request.mimetype in FORM_TYPES:
        request.form  # noqa: B018 (parsed when it is asked for)
    else:
        request.get_data()


def _bearer() -> AccessKey:
    key = login.keyring().bearer(bearer_token(), request.remote_addr or "")
    if key is None:
        raise _wrong_key()
    return key


def bearer_token() -> str:
    """What an Authorization header shows; "" where it is none, or no bearer's."""
    shown = request.authorization
    return (shown.token or "") if shown is not None and shown.type == "bearer" else ""


def _opens(scope: str) -> bool:
    """Whether a key for this is for the address that is asked for."""
    permission = _permission()
    if permission is Permission.HOST:
        return scope == "ingest"
    if permission is Permission.PUBLIC or scope in (OWNER.scope, BROWSER):
        return True
    if scope == "read":
        return is_api() and request.method in _SAFE_METHODS
    return scope == "ingest" and permission is Permission.INGEST


def _permission() -> Permission:
    return access.permission_of(current_app.view_functions.get(request.endpoint or ""))


def _check_extension() -> None:
    """One extension by its exact id, with a token that opens nothing else. No page can forge an Origin."""
    g.signed_in = False
    if not access.is_token(bearer_token(), access.extension_token(services().token)):
        login.keyring().note_wrong(request.remote_addr or "")
        raise _wrong_key()
    if request.headers.get("Origin") != access.EXTENSION_ORIGIN:
        raise Problem(403, "cross_site", "Only Recollect's own browser extension may speak here.")


def _unauthorized() -> Problem:
    detail = _("This browser is not signed in. On the computer that runs Recollect, type `recollect open`.")
    if is_api():
        detail = "A bearer token or a signed-in browser is needed; `recollect token` prints the token."
    return Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


def _wrong_key() -> Problem:
    return login.slow_down() or _unauthorized()


def _record(response: Response) -> Response:
    """Note what a token for one purpose was used for, before the answer leaves: as at the other doors
    (`assistant.read_api.calls`) nothing is told without a row of it. What was taken in stays taken in: a
    refusal would let it be sent again.
    """
    key: AccessKey | None = g.get("key")
    # A host speaks all the time: its row (`store.sources.hosts`) tells when, and those of others stay.
    if key is None or key.scope in (OWNER.scope, BROWSER) or _permission() is Permission.HOST:
        return response
    outcome: Outcome = "answered" if response.status_code < 400 else "refused"
    outcome = "failed" if response.status_code >= 500 else outcome
    own = services()
    use = Access(own.clock(), "api", request.endpoint or "", outcome, 0, 0, key.name)
    try:
        with own.database.write() as connection:
            access_log.record(connection, use)
    except (StoreError, OSError) as error:
        if request.method not in _SAFE_METHODS and outcome == "answered":
            log.warning("what a token was used for cannot be written: %s", error)
        else:  # an OSError is no room for a row
            return problem_response(problem_of(error)) if isinstance(error, StoreError) else of_system(error)
    return response


def _shown_csrf() -> str:
    header = request.headers.get(login.CSRF_HEADER)
    if header is None and request.mimetype in FORM_TYPES:
        header = request.form.get(login.CSRF_FIELD)
    return header or ""


def protect(response: Response) -> Response:
    headers = response.headers
    headers["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if response.mimetype == "text/event-stream":
        headers["X-Accel-Buffering"] = "no"  # nginx would keep the events back
    headers["X-Request-Id"] = request_id()
    if response.mimetype == "text/html":
        response.vary.update(("HX-Request", "HX-History-Restore-Request"))
        headers["Cache-Control"] = "no-store"
    elif request.endpoint != "static" or response.status_code not in (200, 304):
        headers["Cache-Control"] = "private, no-store"
    return response
