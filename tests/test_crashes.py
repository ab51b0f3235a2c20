"""The crash matrix, a sample of it; `python -m tests.crashes 1000` writes the table of the docs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.crashes import DOCS, FAULTS, WRITERS

RUNS = 50


@pytest.mark.end_to_end
def test_whatever_breaks_a_writer_at_any_step_loses_and_doubles_nothing() -> None:
    """In a process of its own, which forks its children while nothing is open."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.crashes", str(RUNS)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_table_of_the_docs_has_every_writer_and_every_fault() -> None:
    table = DOCS.read_text(encoding="utf-8")
    for name in (*(name.replace("_", " ") for name in WRITERS), *FAULTS):
        assert f"| {name} |" in table, name
