"""Totals and their intervals, as a page."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from webapp.core.errors import FieldError, Problem
from webapp.core.moments import end_moment, moment
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.activity import KINDS, TotalsQuery, page

blueprint = Blueprint("activity", __name__)


@blueprint.get("/activity")
def show() -> str:
    """The totals of ``from`` to ``to`` (today when missing); with ``kind`` and ``name`` one's intervals."""
    who = viewer()
    start_ms, end_ms = moment(request.args.get("from"), who), end_moment(request.args.get("to"), who)
    if request.args.get("from") is None and request.args.get("to") is None:
        start_ms, end_ms = who.today.start_ms, who.today.end_ms
    if start_ms is None or end_ms is None or end_ms <= start_ms:
        raise _bad("from", "from and to must be epoch milliseconds, to the later of the two")
    kind = request.args.get("kind")
    if kind is not None and kind not in KINDS:
        raise _bad("kind", f"must be one of {', '.join(KINDS)}")
    ask = TotalsQuery(start_ms, end_ms, kind, request.args.get("name"), request.args.get("app"))
    own = services()
    found = page(own.database, ask, own.settings.capture.idle_after_s)
    return render_template("activity/activity.html", page=found, section="timeline")


def _bad(field: str, message: str) -> Problem:
    return Problem(
        400, "invalid_request", "The address cannot be understood.", errors=(FieldError(field, message),)
    )
