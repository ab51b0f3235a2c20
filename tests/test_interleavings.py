"""Deletion against every writer, a sample of schedules; `python -m tests.interleavings` tries hundreds."""

from __future__ import annotations

import random
from itertools import cycle
from pathlib import Path

import pytest

from tests.interleavings import ASKED, WRITERS, at_random, deletion_before, tried, writer_before


@pytest.mark.parametrize("name", WRITERS)
def test_no_writer_brings_back_what_is_deleted_meanwhile(name: str, tmp_path: Path) -> None:
    """In the middle of the writer, in the middle of the deletion, and turn by turn."""
    alone = tried(name, deletion_before(10**6), tmp_path / "alone")
    assert alone.problems == []
    chance = random.Random(name)
    at = chance.randrange(alone.steps["writer"]), chance.randrange(alone.steps["deletion"])
    choices = deletion_before(at[0]), writer_before(at[1]), at_random(chance)
    for asked, choose in zip(ASKED, cycle(choices)):
        assert tried(name, choose, tmp_path / asked, asked).problems == [], (asked, at)
