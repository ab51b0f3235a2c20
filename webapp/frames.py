"""One frame: the exact picture with the words that were searched or cited, and its deletion."""

from __future__ import annotations

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from store import deletion, frames
from webapp import fragments
from webapp.errors import Problem
from webapp.services import services
from webapp.viewer import viewer
from webapp.views.frame import page
from webapp.views.pictures import picture
from webapp.wording import clock

blueprint = Blueprint("frames", __name__)


@blueprint.get("/frames/<id:frame_id>")
def show(frame_id: int) -> Response:
    """The frame; 410 with its text when the picture is gone (STO-2: never another frame)."""
    own = services()
    frame = frames.get(own.database, frame_id)
    hit = request.args.get("hit", "1")
    found = page(
        own.database,
        own.media,
        frame,
        viewer(),
        request.args.get("q", "")[:1000],
        int(hit) if hit.isdecimal() and len(hit) < 6 else 1,
        request.args.get("cite", ""),
    )
    html = render_template("frames/frame.html", page=found, section="timeline")
    return make_response(html, 410 if found.gone else 200)


@blueprint.get("/frames/<id:frame_id>/delete")
def confirm(frame_id: int) -> Response:
    """What deleting this frame takes along; nothing is done yet."""
    own = services()
    frame = frames.get(own.database, frame_id)
    counts = deletion.preview(own.database, frame.captured_ms, frame.captured_ms + 1)
    return fragments.render(
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
