"""Every requirement of R0 that a test can decide has a test named after its number.

The name of a test carries the numbers: ``test_r0_26_r0_27_an_append_turn_…`` or ``test_r0_6_to_r0_13_…``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

_NUMBERS = re.compile(r"r0_(\d+)(?:_to_r0_(\d+))?")
_NO_TEST = {
    46: "the one type of options: every test of gates is written against it",
    71: "an order in which to merge",
}


def numbered() -> dict[int, list[str]]:
    """The names of tests by the numbers they carry."""
    found: dict[int, list[str]] = {}
    for name in _test_names():
        for first, last in _NUMBERS.findall(name):
            for number in range(int(first), int(last or first) + 1):
                found.setdefault(number, []).append(name)
    return found


def _test_names() -> Iterator[str]:
    for path in sorted(Path(__file__).parent.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield node.name


def test_every_item_of_r0_has_a_test_named_after_it() -> None:
    named = numbered()
    assert [number for number in range(1, 72) if number not in named and number not in _NO_TEST] == []
    assert not _NO_TEST.keys() & named.keys(), "it has one by now"
