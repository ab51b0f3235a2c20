"""Claims: planted answers over the sample week, and what the checker makes of them.

Goals: every invented id dropped, no quote called found that is not there, at least 95 % of the
unsupported sentences flagged, at most 3 % of the supported ones.
"""

from __future__ import annotations

import tempfile
from itertools import chain
from pathlib import Path

from bench.planted import SETS, answers, variants
from bench.planted.judging import Tally, judge
from bench.planted.screens import ZONE, fill, measured, values
from bench.report import Report
from store.database import open_database
from store.paths import DataDir


def main(report: Report) -> None:
    """Print the rates for each written set, for those made of them, and for all; then each miss."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        screens = fill(database)
        told = values() | measured(database, screens)
        sets = {name: answers(name, told) for name in SETS}
        sets["made of the right ones"] = list(variants(list(chain(*sets.values()))))
        sets["all"] = list(chain(*sets.values()))
        for name, planted in sets.items():
            tally = judge(database, screens, ZONE, planted)
            show(report, name.replace("_", " "), tally)
        database.close_thread()
    for miss in tally.misses:
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


def _rate(share: float, of: int) -> str:
    return f"{share:.1%} of {of}"
