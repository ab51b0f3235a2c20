"""The house's one direction of imports (docs/architecture.md), and what must never be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ARROWS = {
    "capture": {"capture", "store"},
    "ingest": {"ingest", "store", "engines"},
    "webapp": {"webapp", "store", "engines"},
    "store": {"store"},
    "engines": {"engines"},
}
# Capture runs alone, and keeps running when the database is down: these store modules only.
CAPTURE_MAY_USE = {
    "browser_words", "capture_state", "errors", "paths", "privacy", "privacy_rules", "private_windows",
    "settings", "spool", "times", "toolbar_words",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Dotted names a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_only_along_the_arrows(room: str) -> None:
    paths = modules(room)
    assert paths
    for path in paths:
        rooms = {name.split(".")[0] for name in imported(path)} & set(ARROWS)
        assert rooms <= ARROWS[room], f"{path.relative_to(ROOT)} imports {rooms - ARROWS[room]}"


def test_capture_never_opens_the_database() -> None:
    for path in modules("capture"):
        used = {name.split(".")[1] for name in imported(path) if name.startswith("store.")}
        assert used <= CAPTURE_MAY_USE, f"{path.relative_to(ROOT)} uses {used - CAPTURE_MAY_USE}"


def test_the_assistant_does_not_know_flask() -> None:
    for path in modules("webapp/assistant"):
        names = {name.split(".")[0] for name in imported(path)}
        assert not names & {"flask", "werkzeug", "htmx_flask", "flask_sock"}, path


def test_engines_know_no_tables() -> None:
    for path in modules("engines"):
        assert not {name.split(".")[0] for name in imported(path)} & {"peewee", "apsw", "playhouse"}, path


def test_there_is_one_sqlite_library() -> None:
    """Two SQLite libraries on one file can corrupt it; apsw is ours, tests included."""
    for folder in (*ARROWS, "tests", "bench"):
        for path in modules(folder):
            assert "sqlite3" not in {name.split(".")[0] for name in imported(path)}, path


def test_every_query_lives_in_the_store() -> None:
    """SQL stands in functions named for their answer, in one room."""
    for room in ("capture", "ingest", "webapp", "engines"):
        for path in modules(room):
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            used = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
            assert not used & {"execute", "executemany", "scalar"}, path
            assert "store.core.database.rows" not in set(imported(path)), path


MERGED = (
    ("assistant.core.prompt_blocks",),  # splitting the prompt
    ("assistant.turns.admission",),  # the override
    ("store.sources.messages", "assistant.tools.sources"),  # days_radius
    ("assistant.tools.registry",),  # gates and descriptions
    (
        "webapp.pages.insights",
        "webapp.pages.personas",
        "webapp.api.insights",
        "webapp.api.personas",
    ),  # client
)
"""The steps of R0.71, in the order in which each could be merged on its own."""


@pytest.mark.parametrize("n", range(len(MERGED)))
def test_r0_71_a_step_needs_nothing_of_the_steps_after_it(n: int) -> None:
    """The order is one of merging, done long ago; what makes it possible is that no step looks ahead."""
    code = f"import sys, {', '.join(MERGED[n])}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded >= set(MERGED[n])
    assert not loaded & {name for step in MERGED[n + 1 :] for name in step}
