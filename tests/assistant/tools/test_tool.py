"""Tools: schema from the signature, checked arguments, failures as results."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import Field

from assistant.tools import files, general
from assistant.tools.tool import MAX_OUTPUT_CHARS, Tool, ToolFailed, as_json, tool
from store.core.settings import ToolsSettings
from tests.tables import for_each

SHANGHAI = ZoneInfo("Asia/Shanghai")


class Context:
    now_ms = 1_772_000_000_000
    zone = SHANGHAI

    def __init__(self, root: Path, max_bytes: int = 100) -> None:
        self.settings = ToolsSettings(read_file_roots=(str(root),), read_file_max_bytes=max_bytes)
        home = SimpleNamespace(home=root / "home")
        self.library = SimpleNamespace(database=SimpleNamespace(data_dir=home))


@tool(reaches="nothing", risk="changes")
def sample(
    context: object,
    frame_id: Annotated[int, Field(ge=1, description="Id of a frame.")],
    note: str | None = None,
    size: Annotated[int, Field(le=10)] = 3,
) -> object:
    """Gives its arguments back,
    whatever they are."""
    if note == "fail":
        raise ToolFailed("It was asked to fail.")
    if note == "bug":
        raise RuntimeError("a bug with /secret/path")
    return {"frame_id": frame_id, "note": note, "size": size, "long": "x" * (size - 3) * MAX_OUTPUT_CHARS}


def test_the_signature_is_the_schema_without_what_goes_without_saying() -> None:
    assert sample.definition() == {
        "name": "sample",
        "description": "Gives its arguments back, whatever they are.",
        "parameters": {
            "type": "object",
            "properties": {
                "frame_id": {"type": "integer", "description": "Id of a frame."},
                "note": {"type": "string"},
                "size": {"type": "integer", "default": 3, "maximum": 10},
            },
            "required": ["frame_id"],
        },
    }


def test_a_call_gives_json() -> None:
    told = json.loads(sample.answer(None, {"frame_id": 4}))
    assert told == {"frame_id": 4, "note": None, "size": 3, "long": ""}


@for_each(
    ("arguments", "words"),
    [
        ({}, "frame_id: Field required"),
        ({"frame_id": 0}, "frame_id"),
        ({"frame_id": "the last one"}, "frame_id"),
        ({"frame_id": float("inf")}, "frame_id"),
        ({"frame_id": 1, "size": 11}, "size"),
        ({"frame_id": 1, "colour": "red"}, "colour"),
        ({"frame_id": 1, "note": ["x"]}, "note"),
        ({"frame_id": None}, "frame_id"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolFailed, match=words):
        sample.answer(None, arguments)


def test_failures_are_sentences(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ToolFailed, match=r"^It was asked to fail\.$"):
        sample.answer(None, {"frame_id": 1, "note": "fail"})
    with pytest.raises(ToolFailed) as bug:
        sample.answer(None, {"frame_id": 1, "note": "bug"})
    assert "/secret/path" not in str(bug.value) and "/secret/path" in caplog.text


def test_a_long_result_is_cut_and_says_how_to_go_on() -> None:
    output = sample.answer(None, {"frame_id": 1, "size": 4})
    told = json.loads(output)
    assert len(output) <= MAX_OUTPUT_CHARS < len(told["long"]) + 500
    assert told["cut"].startswith(f"long: the first {len(told['long']):,} of 16,000.")
    rows = json.loads(as_json({"rows": [{"text": "界" * 99}] * 500, "next_cursor": "abc"}))
    assert rows["next_cursor"] is None and f"limit={len(rows['rows'])}" in rows["cut"]
    huge = json.loads(as_json({"rows": [{"text": '"' * 50_000, "n": 1}], "offset": 7}))
    assert huge["rows"][0]["n"] == 1 and len(huge["rows"][0]["text"]) > 7_000
    frame = {"text": "x" * 6_000, "text_start": 5, "urls": ["https://example.org/a"] * 1_000}
    assert "next_offset" not in json.loads(as_json(frame))
    both = json.loads(as_json({**frame, "text": "x" * 20_000, "urls": ["https://example.org/a"] * 900}))
    assert both["next_offset"] == 5 + len(both["text"]) < 20_000 and len(both["urls"]) < 900


def test_files_and_folders_are_read_piece_by_piece_to_their_end(tmp_path: Path) -> None:
    text = "".join(f'{n}: "quoted"\t中\n' for n in range(4_000))
    (tmp_path / "long.txt").write_text(text, encoding="utf-8")
    for n in range(700):
        (tmp_path / f"{n:04}{'é' * 40}").touch()
    context = Context(tmp_path, 50_000)

    def whole(tool: Tool, path: str, key: str) -> tuple[list[Any], dict[str, Any]]:
        parts, offset = [], 0
        while True:
            told = json.loads(tool.answer(context, {"path": path, "offset": offset}))
            parts += told[key]
            offset = told.get("next_offset")
            if offset is None:
                return parts, told

    parts, told = whole(files.read_file, "long.txt", "text")
    assert "".join(parts) == text.encode()[:50_000].decode(errors="ignore")
    assert told["note"] == f"Only the first 50,000 of its {len(text.encode()):,} bytes are read."
    entries, told = whole(files.list_directory, ".", "entries")
    assert [entry["name"] for entry in entries] == sorted(each.name for each in tmp_path.iterdir())
    assert told["total"] == 701
    with pytest.raises(ToolFailed, match="beyond"):
        files.read_file.answer(context, {"path": "long.txt", "offset": 99_999})


def test_the_clock_is_the_persons(tmp_path: Path) -> None:
    assert json.loads(general.get_current_datetime.answer(Context(tmp_path), {})) == {
        "iso": "2026-02-25T14:13:20+08:00",
        "epoch_seconds": 1_772_000_000,
        "timezone": "Asia/Shanghai",
    }


def test_files_ask_and_what_reads_nothing_does_not() -> None:
    tools = (general.calculator, general.get_current_datetime, files.read_file, files.list_directory)
    assert [each.mode for each in tools] == ["auto", "auto", "ask", "ask"]
