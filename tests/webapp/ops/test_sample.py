"""The sample week beside a home: what is deleted with it, and what never is."""

from __future__ import annotations

from store.core.paths import DataDir
from webapp.ops.sample import SampleWeek


def test_only_a_folder_that_says_it_is_a_sample_week_is_deleted(data_dir: DataDir) -> None:
    week = SampleWeek(data_dir.home)
    beside = week.data_dir.create()
    assert (beside.home.parent, week.state, week.link()) == (data_dir.home.parent, "none", "")
    week.remove()
    assert beside.home.exists()
    beside.sample_week.write_text("{}")
    week.remove()
    assert not beside.home.exists() and data_dir.home.exists()
