"""Marks of answers over foreign sets: what is false is warned of, what is true is not.

A set is a file ``marks_*.json`` in one of the folders given: frames with the text that was read off them, and
sentences that cite them, each with its verdict. Only totals are printed.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from assistant.core.records import Claim
from assistant.evidence import citations, marks
from bench.report import Report
from store.ocr.readings import Box, Line, Reading, Word
from store.search.sample import SampledFrame

CERTAIN = (
    "wrong_figure", "wrong_date", "wrong_time", "wrong_name", "altered_quote", "foreign_id", "unknown_id",
    "uncited_fact",
)  # fmt: skip
"""Kinds of false sentences that code can decide."""

SENTENCES = 4
"""Of one answer."""

CHARACTERS = 4_000


@dataclass(slots=True)
class Tally:
    """Counts of some sentences by kind, and of those flagged; "true" are those warned of. No sentence is
    kept: a failing test would print it.
    """

    counted: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    false_marks: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.counted + other.counted,
            self.flagged + other.flagged,
            self.false_marks + other.false_marks,
        )

    def share(self, *kinds: str) -> float:
        """The part of the sentences of some kinds that are flagged (0..1)."""
        return sum(self.flagged[kind] for kind in kinds) / max(1, sum(self.counted[kind] for kind in kinds))


def main(report: Report) -> None:
    for folder in report.folders:
        total = Tally()
        for path in sorted(folder.glob("marks_*.json")):
            tally = judge(path)
            total += tally
            show(report, f"{folder.name}, {path.stem.removeprefix('marks_')}", tally)
        show(report, f"{folder.name}, all", total)
        for kind in CERTAIN:
            report.row(f"  {kind}", f"{total.flagged[kind]} of {total.counted[kind]}")
    _cost(report)


def show(report: Report, name: str, tally: Tally) -> None:
    report.row(f"{name}: certain failures flagged", f"{tally.share(*CERTAIN):.1%}", goal=">= 98 %")
    report.row("  true sentences warned of", f"{tally.share('true'):.1%}", goal="<= 2 %")
    report.row("  false words marked as on the frame", str(tally.false_marks), goal="0")
    report.row("  meanings flagged, which none can be sure of", f"{tally.share('meaning'):.0%}")


def judge(path: Path) -> Tally:
    """What the marks make of a set, `SENTENCES` to an answer."""
    document = json.loads(path.read_text("utf-8"))
    frames = {frame["n"]: {**frame, "read": _reading(frame)} for frame in document["frames"]}
    tally = Tally()
    sentences = document["sentences"]
    for first in range(0, len(sentences), SENTENCES):
        some = sentences[first : first + SENTENCES]
        answer_md, claims = marked(frames, some)
        at = 0
        for sentence, text in zip(some, answer_md.split("\n\n"), strict=False):
            of_it = [claim for claim in claims if at <= claim.start < at + len(text)]
            _count(tally, sentence, text, at, of_it)
            at += len(text) + 2
    return tally


def marked(
    frames: Mapping[int, Mapping[str, Any]], sentences: Sequence[Mapping[str, Any]]
) -> tuple[str, tuple[Claim, ...]]:
    """The answer made of some sentences, and its claims, by the steps of a turn."""
    said = "\n\n".join(_with_ids(sentence["text"]) for sentence in sentences)
    given = [(f"e{quote['n']}", quote["quote"]) for each in sentences for quote in each["quotes"]]
    numbered = citations.number(said, {f"e{n}" for n in frames}, (), "")
    cited = [frames[int(name[1:])] for name in numbered.order]
    checked = [
        citations.checked(
            _row(frame), frame["read"], [quote for name, quote in given if name == f"e{frame['n']}"]
        )
        for frame in cited
    ]
    screens = {
        n: marks.Screen(one.texts, _titles(frame), frame["captured_at"])
        for n, (frame, one) in enumerate(zip(cited, checked, strict=True), 1)
    }
    misquoted = {n: one.misquoted for n, one in enumerate(checked, 1)}
    quoted = {n: one.quoted for n, one in enumerate(checked, 1)}
    claims = marks.check(numbered.answer_md, screens, screens, misquoted, quoted=quoted)
    return numbered.answer_md, claims


def _count(tally: Tally, sentence: Mapping[str, Any], text: str, at: int, claims: Sequence[Claim]) -> None:
    is_true = sentence["truth"] == "true"
    kind = "true" if is_true else sentence["kind"]
    # That a sentence has no source is told of one with an unknown id or a frame without text, too, quietly
    # when it names nothing.
    is_flagged = any(
        claim.state == "not_on_frame"
        or (claim.state == "no_source" and (claim.missing or kind in ("unknown_id", "foreign_id")))
        for claim in claims
    )
    tally.counted[kind] += 1
    tally.flagged[kind] += is_flagged
    places = [
        (at + found.start(), at + found.end())
        for wrong in sentence["wrong"]
        for found in re.finditer(re.escape(wrong), text)
    ]
    on_frame = [mark for claim in claims for mark in claim.on_frame]
    is_marked = not is_true and any(
        start < mark.end and mark.start < end for start, end in places for mark in on_frame
    )
    tally.false_marks += is_marked


def _with_ids(text: str) -> str:
    return re.sub(
        r"\[([\d,，、 ]+)\]", lambda found: "".join(f"[[e{n}]]" for n in re.findall(r"\d+", found[1])), text
    )


def _row(frame: Mapping[str, Any]) -> SampledFrame:
    captured_ms = round(datetime.fromisoformat(frame["captured_at"]).timestamp() * 1000)
    return SampledFrame(
        frame["n"], captured_ms, frame["app"], frame["window"], frame["url"], True, "1", 1, frame["text"]
    )


def _titles(frame: Mapping[str, Any]) -> Iterator[str]:
    return (frame[name] for name in ("app", "window", "url") if frame[name])


def _reading(frame: Mapping[str, Any]) -> Reading:
    """The text as a reading: boxes 10 pixels a character wide, and 20 a sign; a wide gap parts two lines."""
    lines, start = [], 0
    for y, text in enumerate(frame["text"].split("\n")):
        for run in re.finditer(r"\S+(?: \S+)*", text):
            words = tuple(_word(text, start, y, *found.span()) for found in re.finditer(r"\S+", text))
            words = tuple(word for word in words if start + run.start() <= word.start < start + run.end())
            left, right = words[0].box.x, words[-1].box.x + words[-1].box.w
            box = Box(left, 20 * y, right - left, 16)
            lines.append(Line(start + run.start(), start + run.end(), run[0], box, 0.95, words))
        start += len(text) + 1
    return Reading(frame["n"], frame["n"], "set", "", frame["text"], tuple(lines), 0.95, 1, 0)


def _word(text: str, start: int, y: int, first: int, last: int) -> Word:
    left, right = (10 * sum(1 + (east_asian_width(c) in "WF") for c in text[:end]) for end in (first, last))
    return Word(start + first, start + last, text[first:last], Box(left, 20 * y, right - left, 16), 0.95)


def _processor_ms(frames: Mapping[int, Mapping[str, Any]], sentences: Sequence[Mapping[str, Any]]) -> float:
    start = time.process_time()
    marked(frames, sentences)
    return 1000 * (time.process_time() - start)


def _cost(report: Report) -> None:
    for folder in report.folders:
        for path in sorted(folder.glob("marks_*.json")):
            document = json.loads(path.read_text("utf-8"))
            frames = {frame["n"]: {**frame, "read": _reading(frame)} for frame in document["frames"]}
            sentences, size = [], 0
            for sentence in itertools.cycle(document["sentences"]):
                if size >= CHARACTERS:
                    break
                sentences.append(sentence)
                size += len(sentence["text"])
            taken = min(_processor_ms(frames, sentences) for _ in range(5))
            report.row(
                f"{path.stem}: ms of processor for 4,000 characters beside twelve frames",
                f"{taken:.0f} ms",
                goal="<= 50 ms",
            )
