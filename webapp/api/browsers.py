"""The one door for the browser extension: it only accepts (lesson SEC-5)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from store.spool import window_hints
from store.spool.window_hints import ExtensionReport, OrdinaryWindow
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, Request, Text
from webapp.core.services import services
from webapp.security.access import Permission

_MAX_WINDOWS = 200
Name = Annotated[str, StringConstraints(min_length=1, max_length=60, strip_whitespace=True)]
Address = Annotated[str, StringConstraints(max_length=4_000)]


class WindowSaid(Request):
    """An ordinary window by its tab in front; `url` is empty unless it is http, https or file."""

    title: Text
    url: Address = ""


class BrowserSaid(Request):
    """All ordinary windows that are not minimised. Private ones are not known to the extension."""

    copy_id: UUID = Field(description="A random id of this copy of the extension.")
    browser: Name
    windows: list[WindowSaid] = Field(max_length=_MAX_WINDOWS)


class WindowReportReceipt(Answer):
    windows: int


@endpoint(
    "POST",
    "/browser-windows",
    "What the browser extension sees",
    body=BrowserSaid,
    answer=WindowReportReceipt,
    permission=Permission.EXTENSION,
)
def say(body: BrowserSaid) -> WindowReportReceipt:
    """For Recollect's own extension only, with the token it was paired with."""
    own = services()
    windows = tuple(OrdinaryWindow(window.title, _address(window.url)) for window in body.windows)
    word = ExtensionReport(body.browser, own.clock(), windows)
    window_hints.save_report(own.data_dir.spool, str(body.copy_id), word)
    return WindowReportReceipt(windows=len(windows))


def _address(url: str) -> str:
    """Addresses of web pages and files; a browser's own pages have none worth keeping."""
    return url if url.startswith(("http://", "https://", "file://")) else ""
