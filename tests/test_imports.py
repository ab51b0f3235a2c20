"""What import-linter cannot hold: queries stand in the store alone. The arrows are in pyproject.toml."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def imported(path: Path) -> Iterator[str]:
    """Dotted names a module imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_query_lives_in_the_store() -> None:
    """SQL stands in functions named for their answer, in one room."""
    for room in ("capture", "ingest", "assistant", "webapp", "engines"):
        for path in sorted((ROOT / room).rglob("*.py")):
            calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
            used = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
            assert not used & {"execute", "executemany", "scalar"}, path
            assert "store.core.database.rows" not in set(imported(path)), path
