"""A word on the desktop, where there is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assistant.context.background import NO_CONTEXT
from assistant.core.records import ApprovalEvent
from assistant.turns import live
from capture.status import Backoff
from engines.cancellation import CancelToken
from store.core.paths import DataDir
from store.core.times import now_ms
from store.spool.process_state import CaptureState
from webapp.ops.notification import notify, trouble


def test_without_a_desktop_or_a_program_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not notify("x")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", "")
    assert not notify("x")


@pytest.mark.parametrize(("system", "program"), [("linux", "notify-send"), ("darwin", "osascript")])
def test_the_sentence_is_handed_over_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, program: str
) -> None:
    fake, told = tmp_path / program, tmp_path / "told"
    fake.write_text(f'#!/bin/sh\nfor word in "$@"; do echo "$word" >> "{told}"; done\n')
    fake.chmod(0o755)
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert notify('-e $(id) "quoted"')
    said = told.read_text().splitlines()[-1]
    assert said == ("-e $(id) &quot;quoted&quot;" if system == "linux" else '-e $(id) "quoted"')


def test_trouble_is_what_a_person_has_to_end(data_dir: DataDir) -> None:
    assert trouble(data_dir) == ""
    well = CaptureState(1, now_ms(), now_ms(), state="recording")
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, ""),
        ({"state": "failing", "detail": "No display found."}, "Nothing is recorded: No display found."),
        (
            {"state": "failing", "detail": Backoff("no_display", "There is no display here.", 3, 4.0).detail},
            "Nothing is recorded: There is no display here.",
        ),
        ({"state": "paused", "reason": "disk_full", "detail": "Only 0.4 GB"}, "too little of the disk"),
        ({"state": "paused", "reason": "paused"}, ""),
        ({"state": "failing", "reason": "no_display", "written_ms": 0}, ""),
    ]
    for changes, sentence in cases:
        replace(well, **changes).write(data_dir.spool)
        told = trouble(data_dir)
        assert sentence in told and bool(told) == bool(sentence), changes
        assert "again" not in told, "it would be another trouble at each try"


@pytest.mark.parametrize("is_followed", [True, False])
def test_an_answer_that_waits_for_nobody_s_eyes_asks_on_the_desktop(
    is_followed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn, asked = live.LiveTurn(CancelToken(), NO_CONTEXT), list[bool]()
    monkeypatch.setattr(live, "_FOLLOWED_S", 60.0 if is_followed else 0.0)
    services: Any = SimpleNamespace(database=SimpleNamespace(close_thread=lambda: None))
    live._drain(turn, iter([ApprovalEvent(())]), services, lambda: asked.append(True))
    assert asked == ([] if is_followed else [True])
