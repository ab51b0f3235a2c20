"""Claims: planted answers over the sample week, and what the checker makes of them.

Goals: every invented id dropped, no quote called found that is not there, at least 95 % of the
unsupported sentences flagged, at most 3 % of the supported ones. Each set is judged twice: over the
frames as they were drawn, and over the same frames as this machine's engine reads them.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from bench.planted import GROUPS, UNTOUCHED, Answer, answers, variants
from bench.planted.judging import Tally, judge
from bench.planted.screens import ZONE, fill, measured, values
from bench.report import Report
from engines.ocr.protocol import OcrEngine, open_ocr
from store.core.database import open_database
from store.core.paths import DataDir

LANGUAGES = ("eng", "chi_sim")


def main(report: Report) -> None:
    """Print the rates for each written set and each group of them, for those made of them, and for all;
    then each miss.
    """
    over(report, "drawn", None)
    engine = open_ocr("auto", LANGUAGES)
    try:
        over(report, f"read by {engine.name}", engine)
    finally:
        engine.close()


def over(report: Report, how: str, engine: OcrEngine | None) -> None:
    """All sets over the frames read by `engine`, or drawn when there is none."""
    misses: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        screens = fill(database, engine)
        told = values() | measured(database, screens)
        written, all_planted = Tally(), list[Answer]()
        for group, names in GROUPS.items():
            together = Tally()
            for name in names:
                planted = answers(name, told)
                tally = judge(database, screens, ZONE, planted)
                show(report, f"{how}: {name.replace('_', ' ')}", tally)
                misses += _kinds(name, tally) if name in UNTOUCHED else tally.misses
                together += tally
                # What is made of an untouched set would show its sentences.
                all_planted += [] if name in UNTOUCHED else planted
            show(report, f"{how}: all {group}", together)
            written += together
        made = judge(database, screens, ZONE, variants(all_planted))
        misses += made.misses
        show(report, f"{how}: all that were written", written)
        show(report, f"{how}: made of the right ones", made)
        show(report, f"{how}: all", written + made)
        database.close_thread()
    for miss in misses:
        report.line(f"  {miss}")


def show(report: Report, name: str, tally: Tally) -> None:
    report.row(f"{name}: answers", str(tally.answers))
    report.row(
        "  quotes called found that stand there", _rate(tally.precision, tally.found_quotes), goal="100 %"
    )
    report.row("  invented or foreign ids dropped", f"{tally.dropped_ids} of {tally.planted_ids}", goal="all")
    report.row("  unsupported sentences flagged", _rate(tally.recall, tally.unsupported), goal=">= 95 %")
    report.row("  supported sentences flagged", _rate(tally.false_alarms, tally.supported), goal="<= 3 %")
    report.row("  sentences without a claim flagged", f"{tally.silent_flagged} of {tally.silent}")


def _kinds(name: str, tally: Tally) -> list[str]:
    """What was missed, without a sentence of it: who reads one could make the checker fit it."""
    counted = Counter(tally.reasons)
    return [f"{name}, {reason}: {count}" for reason, count in sorted(counted.items())]


def _rate(share: float, of: int) -> str:
    return f"{share:.1%} of {of}"
