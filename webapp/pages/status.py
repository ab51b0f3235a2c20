"""Status: is it recording, reading and finding; and the hand on the recording."""

from __future__ import annotations

import shutil

from flask import request
from werkzeug.wrappers import Response

from store.core.translation import gettext as _
from store.ocr import readings
from store.privacy.rules import load_rules
from store.spool import process_state
from store.timeline import ledger, sample_week, timeline
from store.timeline.gaps import IDLE
from store.timeline.ledger import DecisionCount
from webapp.core import formatting, templating
from webapp.core.errors import Problem
from webapp.core.parameters import number
from webapp.core.services import Services, services, viewer
from webapp.ops import control, health
from webapp.ops.health import recording_indicator
from webapp.ops.site_rules import left_out_words

_MINUTE_MS = 60_000
_ORDER = ("bad", "warn", "off", "ok")


@templating.get("/status")
def show() -> Response:
    """The page; for htmx the facts alone, asked for every ten seconds."""
    own, today = services(), viewer().today
    checked = health.check(own)
    bars = _bars(own, viewer().now_ms)
    return templating.render(
        "status/status.html",
        "status/_facts.html",
        status=checked.status,
        checked_ms=checked.checked_ms,
        parts=sorted(checked.parts, key=lambda part: _ORDER.index(part.verdict)),
        titles=_titles(),
        states=_states(),
        disk=shutil.disk_usage(own.data_dir.home),
        pause=process_state.read_pause(own.data_dir.spool, viewer().now_ms),
        elsewhere=health.recorded_elsewhere(own, viewer().now_ms),
        bars=bars,
        busiest=max(count for __, count in bars),
        ledger=ledger.reconcile(own.database, today.start_ms, today.end_ms),
        decisions=ledger.daily(own.database, today.start_ms, today.end_ms),
        decision_words=decision_words,
        worker=process_state.IngestState.read(own.data_dir.spool),
        failed=list(own.spool.failed())[:10],
    )


def _titles() -> dict[str, str]:
    return {
        "capture": _("Recording"),
        "ingest": _("Frames to store"),
        "index": _("Frames to read"),
        "meaning": _("Search by meaning"),
        "storage": _("Disk"),
        "model": _("Answers"),
        "canary": _("Test search"),
    }


def _states() -> dict[str, tuple[str, str, str]]:
    """Kind, word and icon of each verdict."""
    return {
        "ok": ("ok", _("OK"), "check"),
        "warn": ("warn", _("Look"), "alert"),
        "bad": ("danger", _("Broken"), "alert"),
        "off": ("plain", _("Off"), "dash"),
    }


@templating.get("/status/light")
def light() -> Response:
    """The recording indicator alone."""
    return templating.render_page("shell/_light.html", light=recording_indicator(services()))


@templating.get("/status/now")
def now() -> Response:
    """What the recording light opens: recording, reading and room in a line each, and the pause."""
    own = services()
    state = process_state.CaptureState.read(own.data_dir.spool)
    waiting, ahead = readings.count_pending(own.database), health.growth(own)
    frames = formatting.count(waiting, "frame")
    monitors = formatting.count(len(state.monitors), "monitor") if state and state.monitors else ""
    address, indicator = request.args.get("next", ""), recording_indicator(own)
    rules = load_rules(own.data_dir, own.settings.privacy).rules
    is_sample = sample_week.is_sample(own.data_dir)
    left_out = "" if is_sample else left_out_words(own.database, own.data_dir, rules, own.clock())
    lines = [
        ("play", indicator.word, monitors),
        ("text", _("Reading"), _("%(frames)s to read", frames=frames) if waiting else _("up to date")),
        ("disk", _("Storage"), _("%(time)s left", time=formatting.months(ahead.months))
         if ahead else health.storage_part(own).value),
    ]  # fmt: skip
    return templating.render_page(
        "status/now.html",
        notes=list(filter(None, [indicator.detail, left_out])),
        lines=lines,
        pause=process_state.read_pause(own.data_dir.spool, own.clock()),
        is_sample=is_sample,
        back=address if templating.is_local(address) else "/status",
    )


@templating.post("/status/pause")
def pause() -> Response:
    """Stop recording, for ``minutes`` or until resumed."""
    own = services()
    minutes = number(request.form, "minutes")
    if request.form.get("minutes") and not (minutes and minutes <= control.MAX_PAUSE_MIN):
        error = "minutes", _("must be a whole number of minutes")
        raise Problem(422, "invalid_request", _("The pause cannot be set."), errors=(error,))
    control.pause(own.data_dir, minutes or None, own.clock())
    return templating.redirect_back("/status")


@templating.post("/status/resume")
def resume() -> Response:
    """End a pause, whoever ordered it."""
    control.resume(services().data_dir)
    return templating.redirect_back("/status")


def _bars(own: Services, now_ms: int) -> list[tuple[int, int]]:
    """(when it began, frames kept) of each minute of the last hour."""
    start_ms = now_ms // _MINUTE_MS * _MINUTE_MS - 59 * _MINUTE_MS
    counts = [0] * 60
    for __, captured_ms, ___ in timeline.frames_between(own.database, start_ms, now_ms + 1, 20_000):
        counts[min(59, (captured_ms - start_ms) // _MINUTE_MS)] += 1
    return [(start_ms + n * _MINUTE_MS, count) for n, count in enumerate(counts)]


def decision_words(count: DecisionCount) -> str:
    """A line of the ledger in words; a reason that says no more than the decision is left out."""
    names = {
        "kept": _("kept"),
        "deduped": _("unchanged"),
        "excluded": _("left out"),
        "paused": _("paused"),
        "failed": _("failed"),
    }
    reason = formatting.gap_reason(count.reason) if count.reason else ""
    if count.reason == IDLE:  # beside the looks, whatever became of those
        return reason
    name = names.get(count.decision, count.decision)
    says_more = reason and count.decision in ("paused", "failed")
    return _("%(decision)s, %(reason)s", decision=name, reason=reason) if says_more else name
