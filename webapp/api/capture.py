"""Control of the recording, what was decided at every look, and what the browser extension reports."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from store.spool import window_hints
from store.spool.process_state import TextDoor
from store.spool.window_hints import ExtensionReport, OrdinaryWindow
from store.timeline import ledger as decisions
from webapp.api.endpoint import endpoint, range_ms
from webapp.api.values import Answer, Minutes, RangeQuery, Request, SpanAnswer, Text, Timestamp
from webapp.core.services import services
from webapp.ops import control
from webapp.security.access import Permission


class PauseRequest(Request):
    minutes: Annotated[float, Field(gt=0, le=control.MAX_PAUSE_MIN, allow_inf_nan=False)] | None = Field(
        None, description="How long; until resumed when missing."
    )


class PauseAnswer(Answer):
    state: Literal["paused", "resumed"]
    since: Timestamp | None = None
    until: Timestamp | None = Field(
        default=None, validation_alias="ends_ms", description="Epoch seconds; null until resumed."
    )


@endpoint("POST", "/capture/pause", "Stop recording", body_required=False)
def pause(body: PauseRequest) -> PauseAnswer:
    """Stop recording for some minutes or until resumed. Survives a restart."""
    own = services()
    return PauseAnswer.of(control.pause(own.data_dir, body.minutes, own.clock()), state="paused")


@endpoint("POST", "/capture/resume", "Go on recording")
def resume() -> PauseAnswer:
    """End a pause, whoever ordered it."""
    control.resume(services().data_dir)
    return PauseAnswer(state="resumed")


class DecisionCountAnswer(Answer):
    decision: Literal["kept", "deduped", "excluded", "paused", "failed"]
    reason: str
    looks: int
    minutes: Minutes = Field(validation_alias="duration_ms")


class ReconciliationAnswer(Answer):
    """looks = kept + deduped + excluded + paused + failed + difference."""

    looks: int
    kept: int
    deduped: int
    excluded: int
    paused: int
    failed: int
    difference: int = Field(description="0 unless frames still wait in the spool or a look was lost.")


class DecisionsAnswer(SpanAnswer):
    decisions: list[DecisionCountAnswer]
    reconciliation: ReconciliationAnswer


@endpoint("GET", "/capture/decisions", "What was decided at every look")
def ledger(query: RangeQuery) -> DecisionsAnswer:
    """Looks by decision and reason; never the name of anything that was left out."""
    start_ms, end_ms = range_ms(query)
    return DecisionsAnswer(
        start_time=start_ms,
        end_time=end_ms,
        decisions=DecisionCountAnswer.list_of(decisions.daily(services().database, start_ms, end_ms)),
        reconciliation=ReconciliationAnswer.of(decisions.reconcile(services().database, start_ms, end_ms)),
    )


# -- the one door for the browser extension: it takes what it hears and tells nothing of what is stored

_MAX_WINDOWS = 200
Name = Annotated[str, StringConstraints(min_length=1, max_length=60, strip_whitespace=True)]
Address = Annotated[str, StringConstraints(max_length=4_000)]


class WindowReport(Request):
    """An ordinary window by its tab in front; `url` is empty unless it is http, https or file."""

    title: Text
    url: Address = ""


class BrowserReport(Request):
    """All ordinary windows that are not minimised. Private ones are not known to the extension."""

    copy_id: UUID = Field(description="A random id of this copy of the extension.")
    browser: Name
    windows: list[WindowReport] = Field(max_length=_MAX_WINDOWS)


class WindowReportReceipt(Answer):
    windows: int
    text_door: TextDoor | None = Field(
        description="Where the text of pages is asked for, if anywhere: the extension shows `key` at this "
        "port of this machine, and believes who says `word`."
    )


@endpoint("POST", "/browser-windows", "What the browser extension sees", permission=Permission.EXTENSION)
def report_windows(body: BrowserReport) -> WindowReportReceipt:
    """For Recollect's own extension only, with the token it was paired with."""
    # Addresses of web pages and files; a browser's own pages have none worth keeping.
    kept = ("http://", "https://", "file://")
    windows = tuple(
        OrdinaryWindow(each.title, each.url if each.url.startswith(kept) else "") for each in body.windows
    )
    report = ExtensionReport(body.browser, services().clock(), windows)
    window_hints.save_report(services().data_dir.spool, str(body.copy_id), report)
    return WindowReportReceipt(windows=len(windows), text_door=TextDoor.read(services().data_dir.spool))
