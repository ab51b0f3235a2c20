"""The browser's session: a signed cookie, and the CSRF token that belongs to it."""

from __future__ import annotations

import hmac
import secrets

from flask import Blueprint, redirect, request, session
from werkzeug.wrappers import Response

from store.egress.access_log import use_login_code
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.security.access import check_launch_code, derive_key, public

CSRF_FIELD = "csrf_token"
CSRF_HEADER = "X-CSRF-Token"


def sign_in() -> None:
    """Give this browser a session."""
    session.clear()
    session.permanent = True
    session["id"] = secrets.token_urlsafe(16)


def has_session() -> bool:
    return "id" in session


def csrf_token(token: str) -> str:
    """What a form of this session must carry; empty when there is no session."""
    if not has_session():
        return ""
    key = derive_key(token, "csrf")
    return hmac.new(key, session["id"].encode(), "sha256").hexdigest()


def is_csrf_token(shown: str, token: str) -> bool:
    expected = csrf_token(token)
    return bool(expected) and hmac.compare_digest(shown.encode(), expected.encode())


# -- a launch link gives a session, once --------------------------------------------------------

blueprint = Blueprint("launch", __name__)


@blueprint.get("/launch")
@public
def launch() -> Response:
    """Sign this browser in and go to the pages. A used or expired code gets 401 and no session."""
    if request.method == "HEAD":  # a preview of the link must not use it up
        return Response(status=204)
    own = services()
    now_ms = own.clock()
    code = check_launch_code(own.token, request.args.get("code", ""), now_ms)
    if code is None:
        raise _refused()
    with own.database.write() as connection:
        is_first = use_login_code(connection, *code, now_ms)
    if not is_first:
        raise _refused()
    sign_in()
    return redirect("/", 303)


def _refused() -> Problem:
    detail = "This link has expired or was used before."
    action = "On the computer that runs Recollect, type `recollect open`."
    return Problem(401, "launch_refused", f"{detail} {action}")
