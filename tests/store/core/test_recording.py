"""What is chosen in the app of how the screen is recorded."""

from __future__ import annotations

import pytest

from store.core import recording
from store.core.errors import SettingsError
from store.core.paths import DataDir
from store.core.settings import CaptureSettings, load
from tests.tables import for_each


def test_a_choice_counts_and_what_is_given_counts_more(data_dir: DataDir) -> None:
    data_dir.config.write_text("[capture]\nmonitors = []\n")
    settings = load(data_dir, {"RECOLLECT_CAPTURE_IDLE_AFTER_S": "60"}).capture
    assert settings.given == {"monitors": "config.toml", "idle_after_s": "RECOLLECT_CAPTURE_IDLE_AFTER_S"}
    chosen = {"monitors": ["DP-1"], "interval_s": 5.0, "idle_after_s": 90.0, "min_free_gb": 1.0}
    recording.choose(data_dir, chosen, settings)
    now = recording.chosen(data_dir, settings)
    assert (now.monitors, now.interval_s, now.idle_after_s, now.min_free_gb) == ((), 5.0, 60.0, 1.0)
    assert recording.chosen(data_dir, CaptureSettings()).monitors == ("DP-1",)


def test_what_cannot_be_is_not_kept(data_dir: DataDir) -> None:
    recording.choose(data_dir, {"interval_s": 5.0}, CaptureSettings())
    with pytest.raises(SettingsError, match="interval_s must be at least"):
        recording.choose(data_dir, {"interval_s": 0.0}, CaptureSettings())
    assert recording.chosen(data_dir, CaptureSettings()).interval_s == 5.0


@for_each("content", ["{", "[]", '{"source": "folder:/etc"}', '{"monitors": "DP-1"}', '{"interval_s": 0}'])
def test_what_cannot_be_read_is_no_default(data_dir: DataDir, content: str) -> None:
    data_dir.recording.write_text(content)
    with pytest.raises(SettingsError, match=r"recording\.json"):
        recording.chosen(data_dir, CaptureSettings())
