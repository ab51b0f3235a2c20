"""Pages: their routes, templates as answers (whole, or the fragment that htmx asked for), and filters."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from flask import Blueprint, Flask, Response, current_app, make_response, redirect, render_template
from flask import request as flask_request
from htmx_flask import Htmx
from werkzeug.local import LocalProxy
from werkzeug.wrappers import Response as BaseResponse

from store.chats import personas
from store.core import preferences, times
from store.core.translation import N_
from store.core.translation import gettext as _
from store.frames import frames
from store.frames.frames import FrameRow
from webapp.core import formatting
from webapp.core.parameters import presets
from webapp.core.services import viewer
from webapp.core.services import wants_fragment as wants_fragment

_BEFORE_UNIT = re.compile(r"(?<=\d) ")
"""A line does not end between a figure and its unit."""


class _Pages(Blueprint):
    """Routes that are called by their modules and functions: what one module shows another may show, too."""

    def add_url_rule(
        self, rule: str, endpoint: str | None = None, view_func: Any = None, *values: Any, **options: Any
    ) -> None:
        name = f"{view_func.__module__}.{view_func.__name__}".replace(".", "_")
        super().add_url_rule(rule, name, view_func, *values, **options)


class SettingsTab(NamedTuple):
    """A page of Settings and what else counts as it; the first address is where its link leads."""

    name: str
    icon: str
    addresses: tuple[str, ...]
    is_advanced: bool = False


SETTINGS = (
    SettingsTab(N_("Recording"), "play", ("/settings/recording", "/status")),
    SettingsTab(N_("Storage"), "disk", ("/settings/storage",)),
    SettingsTab(N_("Privacy"), "shield", ("/privacy",)),
    SettingsTab(N_("Models and voices"), "chat", ("/settings/models", "/personas")),
    SettingsTab(N_("Memory"), "memory", ("/settings/memory",)),
    SettingsTab(N_("Imports"), "open", ("/sources",)),
    SettingsTab(N_("Display"), "window", ("/settings/display",)),
    SettingsTab(N_("About"), "info", ("/settings/about",)),
    SettingsTab(N_("Tools"), "", ("/settings/tools",), True),
    SettingsTab(N_("Browsers and programs"), "", ("/settings/access",), True),
    SettingsTab(N_("Chat summaries"), "", ("/memory/sessions",), True),
    SettingsTab(N_("Prompts as sent"), "", ("/settings/models/prompt/preview",), True),
    SettingsTab(N_("What was sent"), "", ("/settings/sent",), True),
    SettingsTab(N_("Logging"), "", ("/settings/logging",), True),
)

blueprint = _Pages("pages", __name__)
get, post = blueprint.get, blueprint.post


def shipped(name: str) -> Path:
    """`templates` or `static`: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).parents[1]
    inside = package / f"_{name}"
    return inside if inside.is_dir() else package.parent / name


def render(page_template: str, fragment_template: str, **context: Any) -> Response:
    """The page's template, or the fragment's, with the same context."""
    return make_response(render_template(fragment_template if wants_fragment() else page_template, **context))


def ask_first(fragment: str, section: str, title: str, **context: Any) -> Response:
    """What asks before something is deleted: by itself for a dialog, or as a page called `title`."""
    if wants_fragment():
        return render_page(fragment, **context)
    return render_page("shell/delete.html", fragment=fragment, section=section, title=title, **context)


def render_page(template: str, status: int = 200, /, **context: Any) -> Response:
    """The template as an answer."""
    return make_response(render_template(template, **context), status)


def redirect_to(address: str, code: int = 303) -> BaseResponse:
    """Send the browser to another page: by redirect, or by header when htmx asked.

    htmx follows a redirect by itself and would swap the other page into a corner of this one.
    """
    if not wants_fragment():
        return redirect(address, code)
    response = make_response("", 204)
    response.headers["HX-Redirect"] = address
    return response


def is_local(address: str) -> bool:
    """Whether an address given by a form is a path of ours, and nothing that leads away.

    Browsers drop tabs and line ends from an address, so that ``/<tab>/host`` becomes ``//host``
    (https://url.spec.whatwg.org/#concept-basic-url-parser).
    """
    return address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()


def redirect_back(otherwise: str) -> BaseResponse:
    """To the page that the form names as ``next``, where that is one of ours: a refused form stands at an
    address that shows nothing when it is asked for.
    """
    address = flask_request.form.get("next", "")
    pages = current_app.url_map.bind_to_environ(flask_request.environ)
    is_page = is_local(address) and pages.test(unquote(urlsplit(address).path), "GET")
    return redirect_to(address if is_page else otherwise)


def _here() -> str:
    """This very page, for links that come back to it; where a form is refused, the nearest page above."""
    path = flask_request.path
    pages = current_app.url_map.bind_to_environ(flask_request.environ)
    while path and not pages.test(path, "GET"):
        path = path.rpartition("/")[0]
    return flask_request.full_path.rstrip("?") if path == flask_request.path else path or "/"


def install(app: Flask) -> None:
    """Give requests their `htmx` headers and templates the filters: `formatting` on the request's clock."""
    Htmx(app)
    app.jinja_env.filters.update(
        voice=personas.shown,
        iso=lambda ms: times.rfc3339(ms, viewer().zone),
        clock=lambda ms: formatting.clock(ms, viewer().zone),
        clock_short=lambda ms: formatting.clock_short(ms, viewer().zone),
        moment=lambda ms: formatting.moment(ms, viewer().zone),
        stretch=lambda start_ms, end_ms: formatting.stretch(start_ms, end_ms, viewer().zone),
        offset=lambda ms: preferences.utc_offset(ms, viewer().zone),
        offset_min=lambda ms: preferences.utc_offset_min(ms, viewer().zone),
        day_long=lambda value: formatting.date_long(_date(value)),
        day_short=lambda value: formatting.date_short(_date(value)),
        app_name=formatting.app_name,
        gap_reason=formatting.gap_reason,
        weekday=formatting.weekday,
        month=formatting.month,
        dates=formatting.dates,
        duration=lambda ms: _BEFORE_UNIT.sub("\u00a0", formatting.duration(ms)),
        count=formatting.count,
        size=formatting.size,
        months=formatting.months,
        frame_ms=frames.captured_ms_of,
        frame_alt=_frame_alt,
        provenance=_provenance,
        # The height of a preview of that width, so that nothing shifts when it arrives.
        preview_height=lambda frame, width_px: max(
            1, round(frame.height_px * min(width_px, frame.width_px) / max(1, frame.width_px))
        ),
        host=formatting.host,
        sentence=formatting.sentence,
        tool_duration=formatting.tool_duration,
        indented_json=formatting.indented_json,
        from_json=json.loads,
        slot_class=formatting.slot_class,
        outlines=formatting.outlines,
        day_key=lambda ms: times.to_local(ms, viewer().zone).date().isoformat(),
        wall=lambda ms: times.to_local(ms, viewer().zone).strftime("%Y-%m-%dT%H:%M"),
    )
    app.jinja_env.globals.update(
        ui=LocalProxy(lambda: app.jinja_env.get_template("macros.html").module),
        entity_kinds=formatting.entity_kinds,
        viewer=viewer,
        presets=presets,
        settings_tabs=SETTINGS,
        here=_here,
        span=lambda start_ms, end_ms: formatting.span(start_ms, end_ms, viewer().zone, viewer().now_ms),
    )


def _provenance(source: str) -> str:
    """Who told words of a frame, by `store.ocr.readings.SOURCES`."""
    return {
        "read": _("read from the picture"),
        "browser": _("reported by the browser"),
        "accessibility": _("reported by the system"),
    }[source]


def _frame_alt(frame: FrameRow, at: str = "") -> str:
    """A frame in words: app, window, and its time, on the viewer's clock where `at` is not given."""
    at = at or formatting.clock(frame.captured_ms, viewer().zone)
    return ", ".join(part for part in (frame.app_name, frame.window_name, at) if part)


def _date(value: int | date) -> date:
    return value if isinstance(value, date) else times.to_local(value, viewer().zone).date()
