"""Numbers and times in words: pure functions behind the template filters.

Not by `strftime`, which follows the process's locale: names come from Babel, patterns from the catalog.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, tzinfo
from difflib import SequenceMatcher
from typing import Literal

from babel.dates import format_date

from assistant.core import strings
from assistant.core.texts import own_language
from store.core import times
from store.core.translation import N_, language, ngettext
from store.core.translation import gettext as _
from store.spool.page_text import Area
from store.spool.queue import DESKTOP, HIDDEN_WINDOW, PRIVATE_WINDOW

_MINUTE_MS = 60_000
_NEARLY_FULL = 1.4
"""Boxes are drawn as one that is at most this much larger."""


def clock(ms: int, zone: tzinfo) -> str:
    """``14:32:08``"""
    return times.to_local(ms, zone).strftime("%H:%M:%S")


def clock_short(ms: int, zone: tzinfo) -> str:
    """``14:32``"""
    return times.to_local(ms, zone).strftime("%H:%M")


def date_long(on: date) -> str:
    """``Fri 20 Nov 2026``"""
    return format_date(on, _("EEE d MMM y"), language())


def date_short(on: date) -> str:
    """``Fri 20 Nov``"""
    return format_date(on, _("EEE d MMM"), language())


def month(of: date) -> str:
    """``Nov 2026``"""
    return format_date(of, _("MMM y"), language())


def weekday(on: date) -> str:
    """``Fri``"""
    return format_date(on, "EEE", language())


def weekday_long(on: date) -> str:
    """``Friday``"""
    return format_date(on, "EEEE", language())


def dates(first: date, last: date) -> str:
    """``16–22 Nov 2026``, ``30 Nov–6 Dec 2026``"""
    pattern = _("d–d MMM y") if first.month == last.month else _("d MMM–d MMM y")
    of_first, __, of_last = pattern.partition("–")
    return f"{format_date(first, of_first, language())}–{format_date(last, of_last, language())}"


def moment(ms: int, zone: tzinfo) -> str:
    """``Fri 20 Nov 2026, 14:32:08``"""
    at = times.to_local(ms, zone)
    return _("%(day)s, %(time)s", day=date_long(at.date()), time=f"{at:%H:%M:%S}")


def day_and_clock(ms: int, zone: tzinfo, now_ms: int) -> str:
    """``Fri 20 Nov 14:32``, with the year where it is another than now."""
    at = times.to_local(ms, zone)
    day = date_short if at.year == times.to_local(now_ms, zone).year else date_long
    return f"{day(at.date())} {at:%H:%M}"


def span(start_ms: int, end_ms: int, zone: tzinfo, now_ms: int) -> str:
    """A range as a person would write it: ``Today 14:00–17:00``, ``12 Nov 09:00 – 14 Nov 18:00``.

    One from the beginning of time is ``until 3 Nov``.
    """
    start, end = times.to_local(start_ms, zone), times.to_local(end_ms, zone)
    names = [_day_name(start.date(), zone, now_ms)]
    midnight = end.hour == end.minute == end.second == 0
    last = times.to_local(end_ms - 1, zone).date() if midnight else end.date()
    if start_ms == times.MIN_MS:  # what names no beginning
        return _("until %(day)s", day=_day_name(last, zone, now_ms) + ("" if midnight else f" {end:%H:%M}"))
    if start.date() == last:
        whole = midnight and start.hour == start.minute == 0
        if end_ms - start_ms < _MINUTE_MS and start.minute == end.minute:
            return f"{names[0]} {start:%H:%M}"
        return names[0] if whole else f"{names[0]} {start:%H:%M}–{'24:00' if midnight else f'{end:%H:%M}'}"
    names.append(_day_name(last, zone, now_ms))
    if midnight and start.hour == start.minute == 0:
        return f"{names[0]} – {names[1]}"
    return f"{names[0]} {start:%H:%M} – {names[1]} {'24:00' if midnight else f'{end:%H:%M}'}"


def stretch(start_ms: int, end_ms: int, zone: tzinfo) -> str:
    """``14:32–14:40``; ``14:32`` with how long it took in brackets where it begins and ends in one minute."""
    start, end = clock_short(start_ms, zone), clock_short(end_ms, zone)
    if start != end or end_ms - start_ms >= _MINUTE_MS:
        return f"{start}–{end}"
    if end_ms <= start_ms:
        return start
    return _("%(time)s (%(duration)s)", time=start, duration=duration(max(1_000, end_ms - start_ms)))


def _day_name(on: date, zone: tzinfo, now_ms: int) -> str:
    today = times.to_local(now_ms, zone).date()
    near = {0: _("Today"), 1: _("Yesterday")}.get((today - on).days)
    return near or (date_short(on) if on.year == today.year else date_long(on))


def duration(ms: int) -> str:
    """``2 h 41 min``, ``38 min``, ``45 s``: two units at most, as answers say it; never negative."""
    if (hours := round(ms / 3_600_000)) >= 48:
        return _("%(days)d d", days=round(hours / 24))
    return strings.duration(max(0, ms), own_language())


def count(number: int, noun: str = "", plural: str = "") -> str:
    """``1,204`` or, with a noun, ``1 frame``, ``1,204 frames``."""
    if not noun:
        return f"{number:,}"
    return ngettext(f"%(number)s {noun}", f"%(number)s {plural or f'{noun}s'}", number)


def months(number: float) -> str:
    """``7 months``; from two years on ``3 years``, and from ten on that."""
    if number >= 120:
        return _("over ten years")
    return count(int(number), "month") if number < 24 else count(int(number / 12), "year")


def size(number: float) -> str:
    """``38.2 GB``: decimal units, as disks are sold."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 1000:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def tool_duration(ms: int) -> str:
    """Tools are quick: ``0.3 s``, and whole units from ten seconds on."""
    if ms < 100:
        return _("under 0.1 s")
    return _("%(seconds).1f s", seconds=ms / 1000) if ms < 10_000 else duration(ms)


def indented_json(text: str) -> str:
    """JSON on lines, for reading; what is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        return text


def outlines(boxes: Iterable[Area]) -> list[Area]:
    """Boxes as they are drawn: lines that nearly fill one box together share it, so that no border runs
    through words.
    """
    drawn: list[Area] = []
    for box in sorted(boxes, key=lambda box: (box.y, box.x)):
        if drawn:
            last = drawn[-1]
            x, y = min(last.x, box.x), last.y
            right, bottom = max(last.x + last.w, box.x + box.w), max(last.y + last.h, box.y + box.h)
            around = Area(x, y, right - x, bottom - y)
            if around.w * around.h <= _NEARLY_FULL * (last.w * last.h + box.w * box.h):
                drawn[-1] = around
                continue
        drawn.append(box)
    return drawn


def slot_class(slot: int | None) -> str:
    """The class that carries an app's colour."""
    return "other" if slot is None else f"c{slot}"


def app_name(name: str | None) -> str:
    """An app for a person; what names none is told in the person's language."""
    # An ordinary window of Chromium counts as private, too, until its toolbar proved it is not.
    known = {
        DESKTOP: _("Desktop"),
        PRIVATE_WINDOW: _("Possibly private window"),
        HIDDEN_WINDOW: _("Hidden window"),
    }
    return known.get(name or "") or name or _("Unknown app")


def gap_reason(reason: str) -> str:
    """Why nothing was recorded: ``failed:no_display`` becomes ``failed (no display)``."""
    kind, __, cause = reason.partition(":")
    if kind == "failed":
        return _("failed (%(cause)s)", cause=failure(cause)) if cause else _("failed")
    known = {
        "deleted": _("deleted"),
        "paused": _("paused"),
        "locked": _("locked"),
        "asleep": _("asleep"),
        "excluded": _("left out by a privacy rule"),
        "idle": _("idle (no input)"),
        "not_running": _("not recording"),
    }
    return known.get(kind, kind.replace("_", " "))


_FAILURES = (
    N_("backend refused"),
    N_("blank frames"),
    N_("disk full"),
    N_("display lost"),
    N_("look failed"),
    N_("no display"),
    N_("permission refused"),
    N_("source empty"),
    N_("source failed"),
    N_("spool full"),
    N_("spool unwritable"),
    N_("unknown window"),
    N_("write failed"),
)
"""Why capture may fail, as it calls it, with blanks."""


def failure(cause: str) -> str:
    return _(cause.replace("_", " "))


def entity_kinds() -> dict[str, str]:
    """What may be remembered by name, by its stored word."""
    return {"person": _("Person"), "place": _("Place"), "event": _("Event"), "thing": _("Thing")}


def host(url: str) -> str:
    """The part of a URL that says where it leads."""
    return (url.partition("://")[2] or url).partition("/")[0]


def sentence(text: object) -> str:
    """What an error says, with a capital letter and a full stop."""
    words = str(text)
    words = words[:1].upper() + words[1:]
    return words if words.endswith((".", "。")) else _("%(words)s.", words=words)


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Literal["same", "added", "removed"]
    text: str


def difference(before: str, after: str) -> list[DiffLine]:
    """Every line of both texts in order: the same, removed from `before`, or added in `after`.

    Whole lines are compared: `difflib.ndiff`, which also looks for similar ones, takes minutes for
    thousands of short lines. Lines that are everywhere are no anchors, which keeps those fast, too.
    """
    old, new = (text.split("\n") if text else [] for text in (before, after))
    lines: list[DiffLine] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            lines += [DiffLine("same", text) for text in old[a:b]]
            continue
        lines += [DiffLine("removed", text) for text in old[a:b]]
        lines += [DiffLine("added", text) for text in new[c:d]]
    return lines
