"""Answers without a model over a sample week that was really drawn and read.

The week's own questions, and others that nothing was made for (`bench.evals.other_questions`).

Drawing and reading the week takes a minute or two, so this runs only when it is named::

    python -m bench answers
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from assistant.core.models import ChatModels
from assistant.turns.plan import TurnServices
from bench import sample_truth
from bench.evals.answer_check import Share, check, of_sample, total
from bench.evals.other_questions import SEED, ZONE, asked_of
from bench.report import Report
from bench.sample_truth import Truth
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import ChatSettings
from store.core.times import now_ms

ON_REQUEST = True
"""Left out when all measurements run."""

LAST_DAY = "2026-11-20"


def main(report: Report) -> None:
    """Print how many answers of each set are right and what they rest on."""
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(folder) / "home")
        _make(home.home)
        week = sample_truth.read(home)
        if week is None:
            raise SystemExit("the sample week was not made")
        database = open_database(home)
        _answers(report, database, "the week's own questions", week)
        _answers(report, database, "other questions", asked_of(week))
        database.close_thread()


def _make(home: Path) -> None:
    command = [sys.executable, "-m", "ingest", "--home", str(home), "demo", "--seed", str(SEED)]
    subprocess.run([*command, "--tz", ZONE.key, "--until", LAST_DAY], check=True, capture_output=True)


def _answers(report: Report, database: Database, name: str, week: Truth) -> None:
    deps = TurnServices(database, ChatModels(ChatSettings()), now_ms)
    checked = [check(deps, case, "extractive") for case in of_sample(week)]
    figures = total(checked)
    report.row(f"{name}: right", _told(figures.right))
    report.row("  claims cited or measured", _told(figures.groundedness))
    report.row("  cited frames that show the answer", _told(figures.precision))
    report.row("  expected texts given", _told(figures.coverage))
    for one in checked:
        if not one.is_right:
            report.line(f"  {one.id} {one.message} {one.why}")


def _told(share: Share) -> str:
    return f"{share.count} of {share.of}"
