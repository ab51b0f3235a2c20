"""The door for browsers: a launch link gives a session, once."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from store.egress.access_log import use_login_code
from webapp.core.errors import Problem
from webapp.core.services import services
from webapp.security import login
from webapp.security.access import check_launch_code, public

blueprint = Blueprint("launch", __name__)


@blueprint.get("/launch")
@public
def launch() -> Response:
    """Sign this browser in and go to the pages. A used or expired code gets 401 and no session."""
    own = services()
    now_ms = own.clock()
    code = check_launch_code(own.token, request.args.get("code", ""), now_ms)
    if code is None:
        raise _refused()
    with own.database.write() as connection:
        is_first = use_login_code(connection, *code, now_ms)
    if not is_first:
        raise _refused()
    login.sign_in()
    return redirect("/", 303)


def _refused() -> Problem:
    detail = "This link has expired or was used before."
    action = "On the computer that runs Recollect, type `recollect open`."
    return Problem(401, "launch_refused", f"{detail} {action}")
