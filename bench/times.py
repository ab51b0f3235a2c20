"""Time phrases of people, read and compared with what they mean.

A set is a file ``times.json`` in one of the folders given, in the format of
``tests/cases/time_phrases_composed.json`` with a language beside each case. Only totals are printed.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Any, Literal
from zoneinfo import ZoneInfo

from assistant.language.time_phrases import (
    MOMENT_MARGIN_MS,
    Calendar,
    Found,
    Refusal,
    in_field,
    in_message,
)
from bench.report import Report, percentile, timed_ms

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
Verdict = Literal["right", "declined", "wrong", "wider"]
Ends = tuple[int, int]


def main(report: Report) -> None:
    for folder in report.folders:
        if not (folder / "times.json").exists():
            continue
        cases = json.loads((folder / "times.json").read_text(encoding="utf-8"))["cases"]
        report.line(f"  {folder.name}")
        for language, verdicts in verdicts_of(cases).items():
            told = "  ".join(f"{name} {verdicts[name]}" for name in ("right", "declined", "wrong", "wider"))
            report.row(f"{language}, {verdicts.total()} cases", "", goal=told)
    _cost(report)


def _cost(report: Report) -> None:
    now = Calendar(1_795_168_980_000, ZoneInfo("Asia/Shanghai"))
    words = {
        "phrase": "what did I do on Tuesday between 10:00 and 12:30",
        "8,000 letters": "what is here " * 615,
    }
    words["8,000 Han characters"] = "总结一下我做了什么工作" * 727
    for name, text in words.items():
        # Each time another text, so that none is remembered.
        others = (text + " " * spaces for spaces in itertools.count())
        taken = timed_ms(partial(_read_next, others, now), 20)
        report.row(name, f"{percentile(taken, 0.5):.2f} ms", goal="5 ms" if name == "phrase" else "30 ms")


def _read_next(texts: Iterator[str], now: Calendar) -> None:
    in_message(next(texts), now)


def verdicts_of(cases: Iterable[dict[str, Any]]) -> dict[str, Counter[Verdict]]:
    """Verdicts counted for each language, and in "total"."""
    counted: dict[str, Counter[Verdict]] = {}
    for case in cases:
        verdict = judge(case)
        for name in (case["lang"], "total"):
            counted.setdefault(name, Counter())[verdict] += 1
    return {name: counted[name] for name in sorted(counted, key=lambda name: (name == "total", name))}


def read(case: dict[str, Any], defaults: dict[str, str] | None = None) -> Found | Refusal | None:
    """What the parser makes of a case."""
    return (in_message if case.get("in") == "message" else in_field)(
        case["phrase"], calendar_of(case, defaults)
    )


def calendar_of(case: dict[str, Any], defaults: dict[str, str] | None = None) -> Calendar:
    settings = {"day_start": "00:00", "week_start": "monday", **(defaults or {}), **case.get("settings", {})}
    hour, minute = map(int, settings["day_start"].split(":"))
    week_start = WEEKDAYS.index(settings["week_start"])
    return Calendar(_ms(case["now"]), ZoneInfo(case["tz"]), hour * 60 + minute, week_start)


def judge(case: dict[str, Any]) -> Verdict:
    """Whether a case was read as it should be.

    "declined" is allowed by the case; "wider" is the worst: more than was meant, and not said.
    """
    found, expect = read(case), case["expect"]
    if isinstance(found, Refusal):
        if expect and _is_refused_alike(found, expect, case):
            return "right"
        declines = case.get("may_decline") and found.problem in ("unrecognised", "unread", "ambiguous")
        return "declined" if declines else "wrong"
    if expect is None or found is None:
        is_nothing = expect is None or expect.get("error") == "unrecognised"
        return "wider" if not is_nothing else "right" if found is None else "wrong"
    if "error" in expect:
        return "wider" if expect["error"] == "unread" else "wrong"
    given, wanted = _ranges(found), _wanted(expect, case)
    if given == wanted and _offers(found.also, expect, case):
        return "right"
    return "wider" if given != wanted and _holds(given, wanted) else "wrong"


def _is_refused_alike(found: Refusal, expect: dict[str, Any], case: dict[str, Any]) -> bool:
    words = expect.get("words", "").casefold()
    same = found.problem == expect.get("error") and words in found.phrase.casefold()
    return same and _offers(found.also, expect, case)


def _offers(also: Iterable[Found], expect: dict[str, Any], case: dict[str, Any]) -> bool:
    offered = [_ends(each) for each in also]
    return all(_wanted(each, case)[0] in offered for each in expect.get("also", ()))


def _ranges(found: Found) -> list[Ends]:
    return [_ends(each) for each in (found, *found.further)]


def _ends(found: Found) -> Ends:
    return found.start_ms, found.end_ms


def _wanted(expect: dict[str, Any], case: dict[str, Any]) -> list[Ends]:
    return list(_each_wanted(expect, case))


def _each_wanted(expect: dict[str, Any], case: dict[str, Any]) -> Iterator[Ends]:
    """Both ends of each range; a moment is widened in a message, as the parser does."""
    for each in (expect, *expect.get("and", ())):
        if "at" in each:
            at, margin = _ms(each["at"]), MOMENT_MARGIN_MS if case.get("in") == "message" else 0
            yield at - margin, min(at + margin, _ms(case["now"]))
        else:
            yield _ms(each["start"]) if each["start"] else 0, _ms(each["end"])


def _holds(given: list[Ends], wanted: list[Ends]) -> bool:
    """Whether every wanted range lies within a given one."""
    return all(any(a <= start and end <= b for a, b in given) for start, end in wanted)


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
