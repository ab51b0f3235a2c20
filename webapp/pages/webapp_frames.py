"""One frame: the exact picture with the words that were searched or cited, its pin, its readings, its end."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store.deletion import deletion
from store.frames import frames, tags
from store.ocr import readings
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.formatting import clock
from webapp.core.services import services
from webapp.core.viewer import viewer
from webapp.pages.frames import page
from webapp.views import marked
from webapp.views.frames import picture

blueprint = Blueprint("frames", __name__)


@blueprint.get("/frames/<id:frame_id>")
def show(frame_id: int) -> Response:
    """The frame; 410 with its text when the picture is gone (STO-2: never another frame)."""
    own = services()
    frame = frames.get(own.database, frame_id)
    found = page(own.database, own.media, frame, viewer(), marked.highlight_request(request.args))
    html = render_template("frames/frame.html", page=found, section="timeline")
    return make_response(html, 410 if found.gone else 200)


@blueprint.post("/frames/<id:frame_id>/pin")
def pin(frame_id: int) -> Response:
    """Keep the frame whatever retention says, or let go of it (``pinned=0``)."""
    own = services()
    if request.form.get("pinned") == "0":
        tags.unpin(own.database, frames.get(own.database, frame_id).id)
    else:
        tags.pin(own.database, frame_id, own.clock())
    return templating.redirect_to(_back(frame_id))


@blueprint.post("/frames/<id:frame_id>/tags")
def tag(frame_id: int) -> Response:
    """Mark the frame with ``tag``, or take the tag ``off``."""
    own = services()
    frame = frames.get(own.database, frame_id)
    words, off = request.form.get("tag", ""), request.form.get("off", "")
    try:
        with own.database.write() as connection:
            if off:
                tags.remove(connection, frame.id, off)
            else:
                tags.add(connection, frame.id, words, own.clock())
    except ValueError as error:
        raise Problem(422, "invalid_tag", f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    return templating.redirect_to(_back(frame_id))


@blueprint.post("/frames/<id:frame_id>/read-again")
def read_again(frame_id: int) -> Response:
    """Have the text read anew; what cites the frame is checked against what is read then."""
    own = services()
    readings.read_again(own.database, frames.get(own.database, frame_id).id)
    return templating.redirect_to(_back(frame_id))


@blueprint.post("/frames/<id:frame_id>/readings/<id:reading_id>")
def use_reading(frame_id: int, reading_id: int) -> Response:
    """Let an earlier reading be the one that search and citations use."""
    own = services()
    reading = readings.by_id(own.database, reading_id)
    if reading is None or reading.frame_id != frame_id:
        raise Problem(404, "reading_not_found", f"Frame {frame_id} has no reading {reading_id}.")
    with own.database.write() as connection:
        readings.make_current(connection, reading_id)
    return templating.redirect_to(_back(frame_id))


def _back(frame_id: int) -> str:
    address = request.form.get("next", "")
    return address if templating.is_local(address) else f"/frames/{frame_id}"


@blueprint.get("/frames/<id:frame_id>/delete")
def confirm(frame_id: int) -> Response:
    """What deleting this frame takes along; nothing is done yet."""
    own = services()
    frame = frames.get(own.database, frame_id)
    counts = deletion.preview(own.database, frame.captured_ms, frame.captured_ms + 1)
    return templating.render(
        "frames/delete.html",
        "frames/_delete.html",
        frame=frame,
        picture=picture(frame, clock(frame.captured_ms, viewer().zone)),
        counts=counts,
        section="timeline",
    )


@blueprint.post("/frames/<id:frame_id>/delete")
def delete(frame_id: int) -> Response:
    """Delete the frame and show the receipt."""
    own = services()
    frame = frames.get(own.database, frame_id)
    receipt = deletion.delete_frames(own.database, own.media, [frame.id])
    if not receipt.frames:
        raise Problem(404, "frame_not_found", f"There is no frame {frame_id}.")
    html = render_template("frames/deleted.html", frame=frame, receipt=receipt, section="timeline")
    return make_response(html)
