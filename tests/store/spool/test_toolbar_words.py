"""What ingest tells capture of toolbars, through one small file."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.spool import window_hints
from store.spool.window_hints import MAX_WINDOWS, ToolbarHints, read, record_toolbar


def test_a_private_window_stays_one_whatever_is_said_later(tmp_path: Path) -> None:
    record_toolbar(tmp_path, "a", is_private=False)
    record_toolbar(tmp_path, "b", is_private=True)
    record_toolbar(tmp_path, "b", is_private=False)
    assert read(tmp_path) == ToolbarHints(private=("b",), seen=("a",))
    record_toolbar(tmp_path, "a", is_private=True)
    assert read(tmp_path) == ToolbarHints(private=("b", "a"))


def test_the_oldest_windows_make_room(tmp_path: Path) -> None:
    window_hints.toolbars_path(tmp_path).write_text(
        f'{{"private": [], "seen": {[str(n) for n in range(MAX_WINDOWS)]}}}'.replace("'", '"')
    )
    record_toolbar(tmp_path, "new", is_private=False)
    seen = read(tmp_path).seen
    assert len(seen) == MAX_WINDOWS and seen[0] == "1" and seen[-1] == "new"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"private": 1, "seen": []}', '{"private": [], "seen": [1]}']
)
def test_an_unusable_file_is_said_and_written_anew(tmp_path: Path, content: str) -> None:
    window_hints.toolbars_path(tmp_path).write_text(content)
    with pytest.raises(ValueError, match=r"unusable|Expecting"):
        read(tmp_path)
    record_toolbar(tmp_path, "a", is_private=True)
    assert read(tmp_path) == ToolbarHints(private=("a",))


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    assert read(tmp_path) == ToolbarHints()
